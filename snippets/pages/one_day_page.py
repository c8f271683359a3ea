"""The timetable of the one-day reading plan, and checks of the plan's main statements about XLA."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding
from jaxlib.mlir.passmanager import PassManager

from chapters import count_compiles
from programs import control_flow
from xla_inspect.analysis import list_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from xla_inspect.captured import Captures


class Part(NamedTuple):
    """One part of the plan.

    Attributes:
        minutes: The reading time.
        chapter: A link to the chapter.
        passage: The part of the chapter to read.
        skill: The skill that the reader gains.
    """

    minutes: int
    chapter: str
    passage: str
    skill: str


def list_times(plan: Iterable[Part]) -> Iterator[str]:
    """Yield the parts of a plan as Markdown list items that begin with their starting times, from 0:00."""
    start = 0
    for part in plan:
        clock = f"{start // 60}:{start % 60:02}"
        yield (
            f"* **{clock}** {part.chapter}, {part.minutes} minutes: read {part.passage}. Then you can {part.skill}.\n"
            f"  {{ style='--minutes: {part.minutes}' }}"
        )
        start += part.minutes


def lower_branch(rewrite: str = "") -> str:
    """Return the StableHLO of the program `cond` for eight floats, after an MLIR pass such as `cse` if one is given."""
    module: Any = jax.jit(control_flow.cond).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).compiler_ir()
    with module.context:
        PassManager.parse(f"builtin.module({rewrite})").run(module.operation)
    return str(module)


def check_mlir(branch: str, simplified: str) -> None:
    """Assert the dialects, regions, names and constants of a program, before and after the pass `cse`."""
    dialects = set(re.findall(r"(?m)^ *(?:%\S+ = )?\"?(module|\w+(?=\.))", branch))
    assert dialects == {"module", "func", "stablehlo"}
    first, second = re.findall(r"(?s)\{\n(      .*?)\n    \}", branch)
    assert [re.findall(r"(%\d) = ", region) for region in (first, second)] == [["%4"], ["%4"]]
    assert re.search(r"stablehlo\.compare GT, %\w+, %\w+, FLOAT", branch)
    constants = [re.findall(r"stablehlo\.constant (.*)", text) for text in (branch, simplified)]
    assert len(constants[0]) == 2
    assert set(constants[0]) == set(constants[1])
    assert len(constants[1]) == 1


def check_targets(captures: Captures) -> None:
    """Assert that targets compile one StableHLO differently, and that a running sum is lowered differently for CUDA."""
    programs = list(captures.values())
    assert len({program.stablehlo for program in programs}) == 1
    assert len({len(program.runs) for program in programs}) == len(programs)
    assert len({tuple(kernel.sort for kernel in list_kernels(program)) for program in programs}) == len(programs)
    traced = jax.jit(jnp.cumsum).trace(jax.ShapeDtypeStruct((4,), jnp.float32))
    cpu, cuda = (traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda"))
    assert cpu != cuda


def _list_opcodes(function: Callable[..., Any], argument: jax.ShapeDtypeStruct) -> list[str]:
    return re.findall(r" ([a-z-]+)\(", jax.jit(function).lower(argument).compile().as_text() or "")


def check_floats() -> None:
    """Compile and run for the CPU; assert that XLA keeps `x * 0` only for floats, and removes `x + 0` for floats."""
    # Infinity times 0 is not a number, so a compiler must not replace the product of floats by 0.
    assert np.isnan(jax.jit(lambda x: x * 0)(np.float32(np.inf)))
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.int8):
        is_float = jnp.issubdtype(dtype, jnp.floating)
        opcodes = _list_opcodes(lambda x: x * 0, jax.ShapeDtypeStruct((4,), dtype))
        assert ("multiply" in opcodes) == is_float, dtype
    # The sum of -0.0 and 0.0 is 0.0, so a result of -0.0 proves that the addition was removed.
    assert np.signbit(jax.jit(lambda x: x + 0.0)(np.float32(-0.0)))
    assert not np.signbit(np.float32(-0.0) + np.float32(0.0))


def check_layouts(captures: Captures) -> None:
    """Assert that layouts are assigned before the first fusion, and that the CPU respects a layout of an argument."""
    for target, program in captures.items():
        names = [run.name for run in program.runs]
        fusing = next(step for step in program.passes if "fusion" in step.module.opcode_counts())
        assert names.index("layout-assignment") < names.index(fusing.name), target
    for side, own, yours in (((3, 5), (0, 1), (1, 0)), ((2, 3, 5), (0, 1, 2), (1, 2, 0))):
        chosen = Format(Layout(yours), SingleDeviceSharding(jax.devices("cpu")[0]))
        for function, order in ((jax.jit(jnp.sin), own), (jax.jit(jnp.sin, in_shardings=chosen), yours)):
            lowered = function.lower(jax.ShapeDtypeStruct(side, jnp.float32))
            # The header of HLO lists dimensions from minor to major, JAX's `Layout` from major to minor.
            header = (lowered.compile().as_text() or "").splitlines()[0]
            minor_to_major = ",".join(map(str, reversed(order)))
            assert f"(f32{list(side)}{{{minor_to_major}}})->".replace(" ", "") in header, header


def check_compiles() -> None:
    """Call a jitted function, and assert that a new shape compiles again, but new values of the same shape do not."""
    doubled = jax.jit(lambda x: x * 2)
    inputs = (np.ones(3, np.float32), np.zeros(3, np.float32), np.ones(4, np.float32))
    assert [count_compiles(partial(doubled, values)) for values in inputs] == [1, 0, 1]
