"""Queries for the pipeline page: modules around a pass, contents of fusions, launches of a line, and cache keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from chapters import count_compiles
from xla_inspect.analysis import find_launch, parse_buffers
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xla_inspect import Capture, Captures
    from xla_inspect.hlo import Instruction, Module

_ARITHMETIC = {"dot", "convolution", "reduce", "add", "maximum"}


def find_around(capture: Capture, name: str) -> tuple[Module, Module]:
    """Return the modules before and after the first run in which the pass `name` changed the module."""
    place = capture.pass_names.index(name)
    return capture.passes[place - 1].module, capture.passes[place].module


def list_ranks(module: Module, opcode: str) -> set[int]:
    """Return the ranks of all results of instructions with this opcode."""
    return {instruction.shape.rank for instruction in module.walk() if instruction.opcode == opcode}


def list_fusions(captures: Iterable[Capture], kind: str = "") -> list[tuple[Instruction, set[str]]]:
    """Return each fusion of ENTRY with the opcodes inside it, for one kind of fusion or for all kinds."""
    return [
        (fusion, {inner.opcode for inner in it.module.computation(fusion.calls["calls"][0])})
        for it in captures
        for fusion in it.module.entry
        if fusion.fusion_kind and kind in {"", fusion.fusion_kind}
    ]


def list_arithmetic(capture: Capture) -> list[list[str]]:
    """Return the arithmetic opcodes inside each fusion of ENTRY, such as `dot` and `add`, sorted."""
    return [sorted(_ARITHMETIC & opcodes) for _, opcodes in list_fusions([capture])]


def list_sharing(capture: Capture, value: str) -> list[str]:
    """Return the names of all values in the first allocation that contains `value`, in the order of the memory plan."""
    plan = [[part.instruction for part in row.values] for row in parse_buffers(capture.buffers).allocations]
    return next(names for names in plan if value in names)


def find_launches(capture: Capture, line: int, *opcodes: str) -> set[str]:
    """Return the names of the launches that contain an instruction from a source line with one of the opcodes."""
    module = capture.module
    instructions = [
        instruction
        for instruction in module.walk()
        if instruction.opcode in opcodes and _has_line(capture, instruction, line)
    ]
    return {launch.name for instruction in instructions if (launch := find_launch(module, instruction))}


def has_mixed_launch(capture: Capture, line: int) -> bool:
    """Return whether some launch contains instructions from this source line and from other lines."""
    lines: dict[str, set[bool]] = {}
    for instruction in capture.module.walk():
        # An instruction without a stack frame belongs to no known line.
        if (launch := find_launch(capture.module, instruction)) and capture.frames.get(instruction.stack_frame or 0):
            lines.setdefault(launch.name, set()).add(_has_line(capture, instruction, line))
    return {True, False} in lines.values()


def _has_line(capture: Capture, instruction: Instruction, line: int) -> bool:
    return any(frame.line == line for frame in capture.frames.get(instruction.stack_frame or 0, ()))


def count_by_key() -> dict[str, int]:
    """Call a jitted function with one part of its cache key changed; return the compilations of each call, by part."""

    def double(tree: Mapping[str, jax.Array]) -> jax.Array:
        return tree["a"] * 2

    def call_precisely() -> jax.Array:
        with jax.default_matmul_precision("highest"):
            precise: jax.Array = jitted({"a": vector})
            return precise

    jitted = jax.jit(double)
    vector = np.ones(4, np.float32)
    device = Mesh(np.array(jax.devices()[:1]), ("x",))
    spread = jax.device_put(vector, NamedSharding(device, PartitionSpec("x")))
    optioned = jax.jit(double, compiler_options={"xla_cpu_enable_fast_math": True})
    # The first call fills the cache for the others, so the order matters.
    calls: dict[str, Callable[[], jax.Array]] = {
        "nothing, at the first call": lambda: jitted({"a": vector}),
        "values": lambda: jitted({"a": vector + 1}),
        "structure": lambda: jitted({"a": vector, "b": vector}),
        "weak type": lambda: jitted({"a": 2.0}),
        "shape": lambda: jitted({"a": np.float32(2)}),
        "sharding": lambda: jitted({"a": spread}),
        "options": lambda: optioned({"a": vector}),
        "configuration": call_precisely,
    }
    return {name: count_compiles(call) for name, call in calls.items()}


def show_inliners(captures: Captures) -> str:
    """Return a Markdown table of the pass that removes the last `call` instruction, and its pipeline, by target."""
    rows = []
    for target, it in captures.items():
        step = next(step for step in it.passes if "call" not in step.module.opcode_counts())
        rows.append((title(target), step.pipeline, step.name))
    return markdown.table(["target", "pipeline", "pass"], rows)
