"""Jaxprs as JAX traces them: the parts of one, the tracers that a function gets, and what lowering leaves of it."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from programs import control_flow, look, mlp
from xla_inspect.compilation import count_primitives, walk_equations
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jax.extend.core import Jaxpr, JaxprEqn

    from xla_inspect import Capture, Captures

CONTROL = ("conditional", "while", "select")
_TRANSFORMATIONS = {
    "jax.jit": ("compiles it, once for each signature", "nothing"),
    "jax.grad": ("adds a backward half", "a scalar result"),
    "jax.vmap": ("gives each operation one axis more", "an axis to map over"),
    "jax.jit with shardings": (
        "leaves it whole; the compiler partitions it",
        "a mesh, and how arrays are sharded over it",
    ),
    "jax.shard_map": ("takes it as written for one device; you write the communication", "the same"),
    "jax.pmap": ("the old way: a device for each element of a leading axis", "as many devices"),
}


def decide(x: jax.Array, positive: bool) -> jax.Array:  # noqa: FBT001 - JAX traces an argument by its place
    """Choose in Python by an argument."""
    return jnp.sin(x) if positive else jnp.cos(x)


def print_twice(x: jax.Array) -> jax.Array:
    """Print in a loop of Python, and add one."""
    for _ in range(2):
        sys.stdout.write("")
    return x + 1


def repeat_sine(x: jax.Array, times: int) -> jax.Array:
    """Repeat on the device, as often as an argument says."""
    last: jax.Array = jax.lax.fori_loop(0, times, lambda _, value: jnp.sin(value), x)
    return last


def trace_explicit(function: Callable[..., jax.Array], x: jax.ShapeDtypeStruct) -> Jaxpr:
    """Return the jaxpr of a function of an array that is divided over a mesh whose axis is explicit."""
    mesh = AbstractMesh((8,), ("batch",), axis_types=(AxisType.Explicit,))
    with jax.sharding.use_abstract_mesh(mesh):
        divided = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P("batch")))
        return jax.make_jaxpr(function)(divided)


def find_exponentials(row: jax.ShapeDtypeStruct) -> dict[str, bool]:
    """Return whether an exponential reaches StableHLO, by where it is computed; only the last of them is needed."""
    pair = jax.jit(lambda x: (jnp.sin(x), jnp.exp(x)))
    loop = (lambda carry: jnp.sum(carry[0]) < 9, lambda carry: (carry[0] + 1, jnp.exp(carry[1])))
    programs: dict[str, Callable[[jax.Array], jax.Array]] = {
        "a function": lambda x: pair(x)[0],
        "a branch": lambda x: jax.lax.cond(jnp.sum(x) > 0, pair, pair, x)[0],
        "a scan": lambda x: jax.lax.scan(lambda c, y: (c + y, jnp.exp(y)), jnp.float32(0), x)[0],
        "a loop": lambda x: jax.lax.while_loop(*loop, (x, x))[0],
        "the result of the loop": lambda x: jax.lax.while_loop(*loop, (x, x))[1],
    }
    return {name: "exponential" in jax.jit(program).lower(row).as_text() for name, program in programs.items()}


def show_error(message: str) -> str:
    """Return what JAX says as a listing of its own kind."""
    return f'<div class="said" markdown="1">\n\n{markdown.fence(message, "text")}\n</div>'


def list_given() -> dict[str, list[str]]:
    """Return the objects that a function gets in the place of its array, by the call of it."""
    array = jnp.ones(look.EXAMPLE[0].shape)
    calls: dict[str, Callable[[], object]] = {
        "look(x)": lambda: look.look(array),
        # A function of its own, which no one in this process has traced before.
        "jax.jit(look)(x)": lambda: jax.jit(lambda x: look.look(x))(array),  # noqa: PLW0108 - see above
        "jax.vmap(look)(x)": lambda: jax.vmap(look.look)(array),
        "jax.grad(look)(x[0])": lambda: jax.grad(look.look)(array[0]),
    }
    given = {}
    for written, call in calls.items():
        look.seen.clear()
        call()
        given[written] = list(look.seen)
    return given


def list_equations(jaxpr: Jaxpr, name: str) -> list[JaxprEqn]:
    """Return the equations of a primitive, those of inner jaxprs included."""
    return [equation for equation in walk_equations(jaxpr) if equation.primitive.name == name]


def name_result(equation: JaxprEqn) -> str:
    """Return the type of an equation's first result, without its sharding."""
    return str(equation.outvars[0].aval.str_short(short_dtypes=True)).partition("{")[0]


def show_parts(jaxpr: Jaxpr) -> str:
    """Return a table of the parts of a jaxpr, with those of this one."""
    first = jaxpr.eqns[0]
    (call,) = list_equations(jaxpr, "custom_jvp_call")
    known = ", ".join(f"`{name}`" for name, value in first.params.items() if value is not None)
    parts = [
        ("constants", "before the `;`", f"arrays that the function brought along; here {len(jaxpr.constvars)}"),
        ("inputs", "after `lambda ;`", f"the arguments, flattened: {len(jaxpr.invars)}, each with its type"),
        ("equations", "`let` to `in`", f"{len(jaxpr.eqns)}, in the order in which Python performed them"),
        ("binder", "`f:f32[...]`", "a new name and its type; a name is bound once and never changes"),
        ("primitive", f"`{first.primitive.name}`", "the operation, one of those that JAX defines"),
        ("parameters", "`[...]`", f"what was known when tracing: {known}"),
        ("operands", "`a b`", "names bound above, or literals with their type: `0.0:f32[]`"),
        ("inner jaxprs", "`call_jaxpr=`", f"a function as a parameter: here in `{call.primitive.name}`"),
        ("outputs", "`in (n,)`", f"the results, always a tuple; here {len(jaxpr.outvars)}"),
    ]
    return markdown.table(["part", "where", "what it is"], parts)


def count_traces(row: jax.ShapeDtypeStruct) -> list[tuple[int, ...]]:
    """Return the shapes that a jitted function is traced for when it is called twice with one and once with another."""
    shapes: list[tuple[int, ...]] = []

    @jax.jit
    def body(x: jax.Array) -> jax.Array:
        shapes.append(x.shape)
        return x * 2

    jax.make_jaxpr(lambda x, y: (body(x), body(x + 1), body(y)))(row, jax.ShapeDtypeStruct((3,), row.dtype))
    return shapes


def list_branches(choose: Callable[..., object], *arguments: object) -> list[str]:
    """Return which of two branches are called while a choice between them is traced, in their order.

    A choice that Python cannot make ends the tracing.

    Args:
        choose: What calls both or one of its first two arguments, with the others.
        *arguments: The others.
    """
    called: list[str] = []

    def on_true(x: jax.Array) -> jax.Array:
        called.append("true")
        return jnp.sin(x)

    def on_false(x: jax.Array) -> jax.Array:
        called.append("false")
        return jnp.cos(x)

    with suppress(jax.errors.TracerBoolConversionError):
        jax.make_jaxpr(lambda *values: choose(on_true, on_false, *values))(*arguments)
    return called


def list_control(capture: Capture) -> list[str]:
    """Return the opcodes of choices and loops that are left in a module."""
    counts = capture.module.opcode_counts()
    return [opcode for opcode in CONTROL if counts[opcode]]


def show_control(flow: Mapping[str, Captures]) -> str:
    """Return a table of what is left of choices and loops in each stage and on each target, HTML."""
    rows = []
    for name, captures in flow.items():
        function, example = control_flow.PROGRAMS[name]
        primitive = jax.make_jaxpr(function)(*example).eqns[-1].primitive.name
        stablehlo = re.findall(r"stablehlo\.(?:case|if|while)\b", captures["cpu"].stablehlo)[0]
        left = (", ".join(map(markdown.code, list_control(it))) or "neither" for it in captures.values())
        rows.append([*map(markdown.code, (f"lax.{name}", primitive, stablehlo)), *left])
    targets = next(iter(flow.values()))
    return markdown.cards(["you write", "primitive", "StableHLO", *map(title, targets)], rows)


def count_stages(captures: Captures, jaxpr: Jaxpr) -> dict[str, tuple[int, ...]]:
    """Return the matmuls, the inputs and the sines of a program after each stage."""
    counts, stablehlo = count_primitives(jaxpr), captures["cpu"].stablehlo
    patterns = (r"stablehlo\.dot_general", r"%arg\d+: ", r"stablehlo\.sine")
    stages: dict[str, tuple[int, ...]] = {
        "traced: jaxpr": (counts["dot_general"], len(jaxpr.invars), counts["sin"]),
        "lowered: StableHLO": tuple(len(re.findall(pattern, stablehlo)) for pattern in patterns),
    }
    modules = {"imported: HLO": captures["cpu"].unoptimized_module}
    modules |= {f"optimized for {title(target)}": it.module for target, it in captures.items()}
    for stage, module in modules.items():
        opcodes = module.opcode_counts()
        stages[stage] = (opcodes["dot"] + opcodes["convolution"], len(module.entry.parameters), opcodes["sine"])
    return stages


@dataclass(frozen=True)
class Transformed:
    """The MLP under the transformations that concern a jit or several devices.

    Attributes:
        jitted: Its jaxpr under `jax.jit`.
        sharded: Its trace under `jax.jit` with shardings.
        partitions: The number of devices that this is lowered for.
        mapped: Its jaxpr under `jax.shard_map`.
        pmapped: The jaxpr of a sine under `jax.pmap`.
    """

    jitted: Jaxpr
    sharded: Any
    partitions: str
    mapped: Jaxpr
    pmapped: Jaxpr

    @property
    def around(self) -> str:
        """The primitives that `jax.pmap` consists of, from the outermost."""
        return " around ".join(equation.primitive.name for equation in list(walk_equations(self.pmapped))[:2])


def transform_mlp() -> Transformed:
    """Return the MLP under each of these transformations, over eight devices."""
    mesh = AbstractMesh((8,), ("batch",), axis_types=(AxisType.Auto,))
    specs = (P("batch"), P(), P(), P(), P())
    shardings = tuple(NamedSharding(mesh, spec) for spec in specs)
    sharded = jax.jit(mlp.mlp, in_shardings=shardings).trace(*mlp.EXAMPLE)
    lowered = sharded.lower(lowering_platforms=("cpu",)).as_text()
    mapped = jax.shard_map(mlp.mlp, mesh=mesh, in_specs=specs, out_specs=P("batch"))
    return Transformed(
        jitted=jax.make_jaxpr(jax.jit(mlp.mlp))(*mlp.EXAMPLE),
        sharded=sharded,
        partitions=re.findall(r"mhlo\.num_partitions = (\d+)", lowered)[0],
        mapped=jax.make_jaxpr(mapped)(*mlp.EXAMPLE),
        pmapped=jax.make_jaxpr(jax.pmap(jnp.sin))(jax.ShapeDtypeStruct((1, 3), jnp.float32)),
    )


def show_transformations(forward: Jaxpr, gradient: Jaxpr, batched: Jaxpr, others: Transformed) -> str:
    """Return a table of the transformations: what each does with a function, asks for and makes of the MLP, HTML."""
    matmuls = [len(list_equations(jaxpr, "dot_general")) for jaxpr in (gradient, forward)]
    of_each = name_result(list_equations(others.mapped, "dot_general")[-1])
    made = {
        "jax.jit": f"<code>jit</code> around the same {len(forward.eqns)} equations",
        "jax.grad": f"{matmuls[0]} matmuls in place of {matmuls[1]}",
        "jax.vmap": f"the result is {name_result(batched.eqns[-1])}",
        "jax.jit with shardings": (
            f"the result is {name_result(others.sharded.jaxpr.eqns[-1])}, for {others.partitions} devices"
        ),
        "jax.shard_map": f"the last matmul is {of_each} on each device",
        "jax.pmap": f"(of a sine) <code>{others.around}</code>",
    }
    header = ["transformation", "what it does with a function", "what it asks for", "what it makes of the MLP"]
    return markdown.cards(
        header, [(markdown.code(name), *words, made[name]) for name, words in _TRANSFORMATIONS.items()]
    )
