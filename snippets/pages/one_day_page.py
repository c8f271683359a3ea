"""The timetable of the reading plan, and the checks of its takeaways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

from xla_inspect.analysis import list_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from xla_inspect.captured import Captures


class Part(NamedTuple):
    """One part of the plan.

    Attributes:
        minutes: The time for it.
        chapter: The chapter, as a link.
        passage: The part of the chapter to read.
        skill: The reader's skill afterwards.
    """

    minutes: int
    chapter: str
    passage: str
    skill: str


def list_times(plan: Iterable[Part]) -> Iterator[str]:
    """Yield the parts of a plan as list items, each with the time at which it begins."""
    start = 0
    for part in plan:
        clock = f"{start // 60}:{start % 60:02}"
        yield (
            f"* **{clock}** {part.chapter}, {part.minutes} minutes: {part.passage}. You can then {part.skill}.\n"
            f"  {{ style='--minutes: {part.minutes}' }}"
        )
        start += part.minutes


def check_targets(captures: Captures) -> None:
    """Check that all targets got one StableHLO and compiled it differently, and that a running sum differs for CUDA."""
    founds = list(captures.values())
    assert len({found.stablehlo for found in founds}) == 1
    assert len({len(found.runs) for found in founds}) == len(founds)
    assert len({tuple(kernel.sort for kernel in list_kernels(found)) for found in founds}) == len(founds)
    traced = jax.jit(jnp.cumsum).trace(jax.ShapeDtypeStruct((4,), jnp.float32))
    cpu, cuda = (traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda"))
    assert cpu != cuda


def _list_opcodes(function: Callable[..., Any], argument: jax.ShapeDtypeStruct) -> list[str]:
    return re.findall(r" ([a-z-]+)\(", jax.jit(function).lower(argument).compile().as_text() or "")


def check_floats() -> None:
    """Check that floats keep a multiplication by zero, which integers lose, and lose an addition of zero."""
    assert np.isnan(jax.jit(lambda x: x * 0)(np.float32(np.inf)))
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.int8):
        is_float = jnp.issubdtype(dtype, jnp.floating)
        opcodes = _list_opcodes(lambda x: x * 0, jax.ShapeDtypeStruct((4,), dtype))
        assert ("multiply" in opcodes) == is_float, dtype
    assert np.signbit(jax.jit(lambda x: x + 0.0)(np.float32(-0.0)))
    assert not np.signbit(np.float32(-0.0) + np.float32(0.0))


def check_layouts(captures: Captures) -> None:
    """Check that layouts are assigned before the first fusion, and that a layout in the arguments is compiled."""
    for target, found in captures.items():
        names = [run.name for run in found.runs]
        fusing = next(step for step in found.passes if "fusion" in step.module.opcode_counts())
        assert names.index("layout-assignment") < names.index(fusing.name), target
    for side, own, yours in (((3, 5), (0, 1), (1, 0)), ((2, 3, 5), (0, 1, 2), (1, 2, 0))):
        chosen = Format(Layout(yours), SingleDeviceSharding(jax.devices("cpu")[0]))
        for function, order in ((jax.jit(jnp.sin), own), (jax.jit(jnp.sin, in_shardings=chosen), yours)):
            lowered = function.lower(jax.ShapeDtypeStruct(side, jnp.float32))
            header = (lowered.compile().as_text() or "").splitlines()[0]
            minor_to_major = ",".join(map(str, reversed(order)))
            assert f"(f32{list(side)}{{{minor_to_major}}})->".replace(" ", "") in header, header


def check_compiles() -> None:
    """Check that a new shape compiles, and that other values of the same shape do not."""
    compiles = []

    def listen(event: str, *_: object, **__: object) -> None:
        compiles.append(event.endswith("backend_compile_duration"))

    doubled = jax.jit(lambda x: x * 2)
    jax.monitoring.register_event_duration_secs_listener(listen)
    for values in (np.ones(3, np.float32), np.zeros(3, np.float32), np.ones(4, np.float32)):
        doubled(values)
    jax.monitoring.unregister_event_duration_listener(listen)
    assert sum(compiles) == 2
