"""Tables, lists and example functions for the jaxpr page: parts of a jaxpr, tracers, transformations, lowering."""

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
    "jax.jit": ("compiles the function once for each signature", "nothing"),
    "jax.grad": ("adds a backward half", "a scalar result"),
    "jax.vmap": ("adds one axis to each operation", "an axis to map over"),
    "jax.jit with shardings": (
        "leaves the function whole; the compiler partitions it",
        "a mesh and the sharding of arrays over it",
    ),
    "jax.shard_map": (
        "treats the function as the program of one device; you write the communication",
        "a mesh and the sharding of arrays over it",
    ),
    "jax.pmap": ("runs each element of a leading axis on its own device; superseded", "one device per element"),
}


def decide(x: jax.Array, positive: bool) -> jax.Array:  # noqa: FBT001 - JAX traces an argument by its place
    """Return the sine of `x` if `positive` is true, otherwise its cosine; Python decides."""
    return jnp.sin(x) if positive else jnp.cos(x)


def print_twice(x: jax.Array) -> jax.Array:
    """Write an empty string to stdout twice in a Python loop, and return `x + 1`."""
    for _ in range(2):
        sys.stdout.write("")
    return x + 1


def repeat_sine(x: jax.Array, times: int) -> jax.Array:
    """Apply the sine to `x` `times` times in a loop on the device."""
    last: jax.Array = jax.lax.fori_loop(0, times, lambda _, value: jnp.sin(value), x)
    return last


def trace_explicit(function: Callable[..., jax.Array], x: jax.ShapeDtypeStruct) -> Jaxpr:
    """Return the jaxpr of a function whose argument is divided over an explicit mesh axis of eight devices."""
    mesh = AbstractMesh((8,), ("batch",), axis_types=(AxisType.Explicit,))
    with jax.sharding.use_abstract_mesh(mesh):
        divided = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P("batch")))
        return jax.make_jaxpr(function)(divided)


def find_exponentials(row: jax.ShapeDtypeStruct) -> dict[str, bool]:
    """Lower programs with an exponential in five places; return, by place, whether StableHLO contains it.

    Only the last program, `the result of the loop`, needs the result of its exponential.
    """
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
    """Return an error message of JAX as a listing."""
    return f'<div class="said" markdown="1">\n\n{markdown.fence(message, "text")}\n</div>'


def list_arguments() -> dict[str, list[str]]:
    """Call `look` directly and under transformations; return what it recorded about its argument, by call."""
    array = jnp.ones(look.EXAMPLE[0].shape)
    calls: dict[str, Callable[[], object]] = {
        "look(x)": lambda: look.look(array),
        # A new function, which nothing in this process has traced before: a cached trace would not call `look`.
        "jax.jit(look)(x)": lambda: jax.jit(lambda x: look.look(x))(array),  # noqa: PLW0108 - see above
        "jax.vmap(look)(x)": lambda: jax.vmap(look.look)(array),
        "jax.grad(look)(x[0])": lambda: jax.grad(look.look)(array[0]),
    }
    arguments = {}
    for name, call in calls.items():
        # All calls append to one list of the module.
        look.seen.clear()
        call()
        arguments[name] = list(look.seen)
    return arguments


def list_equations(jaxpr: Jaxpr, name: str) -> list[JaxprEqn]:
    """Return the equations whose primitive has this name, including those of inner jaxprs."""
    return [equation for equation in walk_equations(jaxpr) if equation.primitive.name == name]


def name_result(equation: JaxprEqn) -> str:
    """Return the type of an equation's first result as text, such as `f32[64,256]`, without its sharding."""
    return str(equation.outvars[0].aval.str_short(short_dtypes=True)).partition("{")[0]


def show_parts(jaxpr: Jaxpr) -> str:
    """Return a Markdown table that explains the parts of a jaxpr, with this jaxpr's parts as examples."""
    first = jaxpr.eqns[0]
    (call,) = list_equations(jaxpr, "custom_jvp_call")
    set_parameters = ", ".join(f"`{name}`" for name, value in first.params.items() if value is not None)
    parts = [
        ("constants", "before the `;`", f"arrays that the function closes over; here {len(jaxpr.constvars)}"),
        ("inputs", "after `lambda ;`", f"the {len(jaxpr.invars)} flattened arguments, each with its type"),
        ("equations", "`let` to `in`", f"{len(jaxpr.eqns)} operations, in the order of execution in Python"),
        ("binder", "`f:f32[...]`", "a new name and its type; each name is bound once and never changes"),
        ("primitive", f"`{first.primitive.name}`", "the operation, which JAX defines"),
        ("parameters", "`[...]`", f"values known during tracing: {set_parameters}"),
        ("operands", "`a b`", "names bound above, or literals with their type: `0.0:f32[]`"),
        ("inner jaxprs", "`call_jaxpr=`", f"functions as parameters: here in `{call.primitive.name}`"),
        ("outputs", "`in (n,)`", f"the results, always a tuple; here {len(jaxpr.outvars)}"),
    ]
    return markdown.table(["part", "place", "meaning"], parts)


def count_traces(row: jax.ShapeDtypeStruct) -> list[tuple[int, ...]]:
    """Call a jitted function twice with one shape and once with another; return the shapes for which JAX traces it."""
    shapes: list[tuple[int, ...]] = []

    @jax.jit
    def body(x: jax.Array) -> jax.Array:
        shapes.append(x.shape)
        return x * 2

    jax.make_jaxpr(lambda x, y: (body(x), body(x + 1), body(y)))(row, jax.ShapeDtypeStruct((3,), row.dtype))
    return shapes


def list_branches(choose: Callable[..., object], *arguments: object) -> list[str]:
    """Trace a function that chooses between two branches; return `true` or `false` for each branch that is called.

    Tracing ends, without an error, at a choice that Python cannot make.

    Args:
        choose: A function that calls one or both of its first two arguments with the remaining arguments.
        *arguments: The remaining arguments.
    """
    calls: list[str] = []

    def on_true(x: jax.Array) -> jax.Array:
        calls.append("true")
        return jnp.sin(x)

    def on_false(x: jax.Array) -> jax.Array:
        calls.append("false")
        return jnp.cos(x)

    # A tracer cannot decide a Python `if`, so the trace ends with an error; the calls before it are the answer.
    with suppress(jax.errors.TracerBoolConversionError):
        jax.make_jaxpr(lambda *values: choose(on_true, on_false, *values))(*arguments)
    return calls


def list_control(capture: Capture) -> list[str]:
    """Return which of the opcodes `conditional`, `while` and `select` remain in a compiled module."""
    counts = capture.module.opcode_counts()
    return [opcode for opcode in CONTROL if counts[opcode]]


def show_control(flow: Mapping[str, Captures]) -> str:
    """Return an HTML table of the form of each choice or loop in the jaxpr, in StableHLO, and on each target."""
    rows = []
    for name, captures in flow.items():
        function, example = control_flow.PROGRAMS[name]
        primitive = jax.make_jaxpr(function)(*example).eqns[-1].primitive.name
        stablehlo = re.findall(r"stablehlo\.(?:case|if|while)\b", captures["cpu"].stablehlo)[0]
        remaining = (", ".join(map(markdown.code, list_control(it))) or "none" for it in captures.values())
        rows.append([*map(markdown.code, (f"lax.{name}", primitive, stablehlo)), *remaining])
    targets = next(iter(flow.values()))
    return markdown.cards(["you write", "primitive", "StableHLO", *map(title, targets)], rows)


def count_stages(captures: Captures, jaxpr: Jaxpr) -> dict[str, tuple[int, ...]]:
    """Return the numbers of matmuls, inputs and sines of a program after each stage, in this order."""
    counts, stablehlo = count_primitives(jaxpr), captures["cpu"].stablehlo
    patterns = (r"stablehlo\.dot_general", r"%arg\d+: ", r"stablehlo\.sine")
    stages: dict[str, tuple[int, ...]] = {
        "jaxpr, after tracing": (counts["dot_general"], len(jaxpr.invars), counts["sin"]),
        "StableHLO, after lowering": tuple(len(re.findall(pattern, stablehlo)) for pattern in patterns),
    }
    modules = {"HLO, after the import": captures["cpu"].unoptimized_module}
    modules |= {f"HLO, optimized for {title(target)}": it.module for target, it in captures.items()}
    for stage, module in modules.items():
        opcodes = module.opcode_counts()
        # The TPU's compiler turns a matmul into a convolution.
        stages[stage] = (opcodes["dot"] + opcodes["convolution"], len(module.entry.parameters), opcodes["sine"])
    return stages


@dataclass(frozen=True)
class Transformed:
    """The jaxprs of the MLP under `jit` and under the transformations for several devices.

    Attributes:
        jitted: The jaxpr under `jax.jit`.
        sharded: The trace under `jax.jit` with shardings.
        partitions: The number of devices in the lowered program with shardings.
        mapped: The jaxpr under `jax.shard_map`.
        pmapped: The jaxpr of a sine under `jax.pmap`.
    """

    jitted: Jaxpr
    sharded: Any
    partitions: str
    mapped: Jaxpr
    pmapped: Jaxpr

    @property
    def around(self) -> str:
        """The names of the outer two primitives under `jax.pmap`, as `OUTER around INNER`."""
        return " around ".join(equation.primitive.name for equation in list(walk_equations(self.pmapped))[:2])


def transform_mlp() -> Transformed:
    """Trace the MLP under each transformation of `Transformed`, with eight devices."""
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
    """Return an HTML table of the transformations: their effects, their requirements, and their results for the MLP."""
    matmuls = [len(list_equations(jaxpr, "dot_general")) for jaxpr in (gradient, forward)]
    of_each = name_result(list_equations(others.mapped, "dot_general")[-1])
    results = {
        "jax.jit": f"<code>jit</code> around the same {len(forward.eqns)} equations",
        "jax.grad": f"{matmuls[0]} matmuls instead of {matmuls[1]}",
        "jax.vmap": f"the result is {name_result(batched.eqns[-1])}",
        "jax.jit with shardings": (
            f"the result is {name_result(others.sharded.jaxpr.eqns[-1])}, for {others.partitions} devices"
        ),
        "jax.shard_map": f"the last matmul is {of_each} on each device",
        "jax.pmap": f"for a sine: <code>{others.around}</code>",
    }
    header = ["transformation", "effect on a function", "requirement", "result for the MLP"]
    return markdown.cards(
        header, [(markdown.code(name), *words, results[name]) for name, words in _TRANSFORMATIONS.items()]
    )
