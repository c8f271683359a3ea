"""Checks of the first capstone: the programs that a model compiles while it reads, and the program of its step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from xla_inspect.compilation import capture
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.check_diagnose import check_diagnose
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.practice.marking.submission import Submission

__all__ = ["check_diagnose", "check_model"]

FIRST, SECOND, FULL = (64, 48, 17, 64, 5), (50, 29, 64), (*(64,) * 63, 60, 4)
"""The numbers of tokens in the pieces of three texts; the last text fills the memory, an array with a row per token."""

TEXTS = {
    FIRST: "the memory after a text",
    SECOND: "the memory after another text",
    FULL: "the memory after a text that fills it (a window that extends beyond the end is moved back)",
}
"""The description of the memory after each text."""

TABLE = (
    "slow and fixed (a loop has more launches, because it also launches its counter and the slices of the stacked "
    "weights, but the program no longer grows with the layers):"
)


@dataclass
class Recorder:
    """A wrapper of `step` that records the arguments of each call.

    Attributes:
        step: The function to call.
        calls: The positional and keyword arguments of each call, with shapes instead of arrays.
    """

    step: Callable[..., Any]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the reader's step takes
        """Record the arguments, and call the function."""
        self.calls.append(jax.tree.map(_abstract, (args, kwargs)))
        return self.step(*args, **kwargs)


def _abstract(leaf: Any) -> Any:  # noqa: ANN401 - a leaf is whatever the reader passed
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else leaf


@dataclass(frozen=True)
class Reading:
    """The results of a model that read the texts.

    Attributes:
        memories: The memory after each text, an array with a row for each token.
        compiled: For each text, a line for each program that was compiled while the model read it.
        step: The capture of its step for the first piece, which is the longest.
        name: The name of the step's function in those lines.
    """

    memories: list[np.ndarray]
    compiled: list[list[str]]
    step: Capture
    name: str

    @property
    def of_step(self) -> list[str]:
        """The lines of `compiled` about the step itself, for the first text."""
        return [line for line in self.compiled[0] if line.startswith(f"compiled {self.name} for")]


def check_model(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on the reader's model: the same memory array as the slow model's, and none of its four faults."""
    where = submission.locate("step")
    slow = submission.companion("slow")
    layers = slow.make_layers()
    before, after = _watch(slow, layers, "slow.py"), _watch(submission.module, layers, submission.where)
    for (lengths, description), expected, memory in zip(TEXTS.items(), before.memories, after.memories, strict=True):
        if memory.shape != expected.shape:
            returned, requested = map(check_helpers.say_shape, (memory, expected))
            raise WrongError(bad(f"{submission.locate('read')}: it returns {returned} instead of {requested}"))
        # Rows after the text must stay zero even if pieces are padded to a common length.
        end = sum(lengths)
        if np.any(memory[end:]):
            text = (
                f"{submission.locate('read')}: after a text of {plural(end, 'token')}, later rows of the memory are "
                "not zero; padding rows of a piece are no tokens, so `step` must not change the memory in those rows"
            )
            raise WrongError(bad(text))
        check_helpers.expect_numbers(memory, expected, f"{submission.locate('read')}, {description}", tolerance=1e-3)
    yield good(f"the memory equals that of the slow model after {len(TEXTS)} texts, one of which fills it")
    yield from _judge_shapes(after, submission.locate("read"))
    yield from _judge_transposition(before.step, after.step, where)
    yield from _judge_donation(after.step, (slow.LENGTH, slow.WIDTH), where)
    yield from _judge_loop(after.step, slow.LAYERS, where)
    yield Remark(good=True, text=TABLE, lines=tuple(_compare(before, after)))


def _watch(model: ModuleType, layers: list[dict[str, jax.Array]], where: str) -> Reading:
    """Let a model read the three texts while its calls of `step` are recorded, and return the results.

    Raises:
        WrongError: The model's `step` is not jitted, or `read` does not call it for each piece.
    """
    step = getattr(model, "step", None)
    if not callable(step) or not hasattr(step, "lower"):
        raise WrongError(bad(f"{where}: `step` is not a jitted function; decorate it with `jax.jit`"))
    recorder = Recorder(step)
    memories, compilations = [], []
    # The model's `read` looks `step` up in its module, so the recorder takes its place there.
    vars(model)["step"] = recorder
    try:
        for seed, lengths in enumerate(TEXTS):
            pieces = [check_helpers.random(length, 128, seed=10 * seed + at) for at, length in enumerate(lengths)]
            with check_helpers.compiles() as lines:
                memories.append(np.asarray(model.read(layers, pieces)))
            compilations.append(lines)
    finally:
        vars(model)["step"] = step
    total = sum(map(len, TEXTS))
    # A model that bypasses `step` would be marked by a program that it does not use.
    if len(recorder.calls) < total:
        times = plural(len(recorder.calls), "time")
        text = f"{where}: `read` called `step` {times} for {total} pieces; call it for each piece"
        raise WrongError(bad(text))
    args, kwargs = recorder.calls[0]
    name = getattr(step, "__name__", "step")
    return Reading(memories, compilations, capture(step, *args, **kwargs), name)


def _judge_shapes(after: Reading, where: str) -> Iterator[Remark]:
    # The first text compiles the step in any case, so only the later texts show a repeated compilation.
    again = [line for lines in after.compiled[1:] for line in lines]
    yield judge(
        len(after.of_step) == 1,
        "shape: `step` is compiled once for pieces of all lengths",
        f"shape, {where}: `step` is compiled {plural(len(after.of_step), 'time')} for a text of {len(FIRST)} pieces; "
        "the shape of each argument is part of its key",
        after.of_step,
    )
    if len(after.of_step) == 1:
        yield judge(
            not again,
            "shape: other texts with pieces of other lengths compile nothing",
            f"shape, {where}: other texts with pieces of other lengths compile {plural(len(again), 'program')}; "
            "operations of `jnp` outside `step` are compiled for each shape too, but those of NumPy are not",
            again,
        )


def _judge_transposition(before: Capture, after: Capture, where: str) -> Iterator[Remark]:
    """Yield a remark on whether no matmul reads a transposed operand, and the exponentials are fused with the matmul.

    The fusion counts only if this machine's compiler fuses matmuls.
    """
    exponentials = check_helpers.find_all(after.module, "exponential")
    apart = [instruction for instruction in exponentials if not _has_matmul(after.module, instruction)]
    matmuls = [
        matmul
        for matmul in check_helpers.find_all(after.module, "dot")
        if matmul.attributes.get("lhs_contracting_dims") == "{0}"
    ]
    # YNNPACK fuses matmuls with reductions. If the compiler has this library, the slow program uses it too.
    can_fuse = "ynn_fusion" in before.after
    lines = [*check_helpers.lines(matmuls), *check_helpers.place_lines(apart)]
    yield judge(
        not matmuls and not (apart and can_fuse),
        "transposition: no matmul reads a transposed operand, and the exponentials are fused with the matmul"
        if not apart
        else "transposition: no matmul reads a transposed operand",
        f"transposition, {where}: {plural(len(matmuls), 'matmul reads', 'matmuls read')} a transposed matrix "
        "(`lhs_contracting_dims={0}`), and the exponentials are in a fusion without the matmul; store each token in a "
        "row instead of a column",
        lines,
        "hlo",
    )


def _has_matmul(module: Module, instruction: Instruction) -> bool:
    return any(inner.opcode == "dot" for inner in module.computation(instruction.computation))


def _judge_donation(after: Capture, least: tuple[int, int], where: str) -> Iterator[Remark]:
    """Yield a remark on whether the memory, an array of shape `least` or with more rows, is updated in place."""
    donations = list(after.module.aliases.values())
    same = [
        instruction
        for instruction in after.module.entry
        if instruction.shape.is_array and _holds(instruction.shape.dimensions, least)
    ]
    # Only parameters with the shape of the memory count, because another argument could be donated instead.
    memory = [instruction.parameter_number for instruction in same if instruction.opcode == "parameter"]
    copies = [instruction for instruction in same if instruction.opcode == "copy"]
    size = same[0].shape.bytes if same else 0
    header_parts = check_helpers.read_header(after, "HloModule", "input_output")
    yield judge(
        any(number in memory for number in donations) and not copies,
        "donation: the memory is updated in place",
        f"donation, {where}: each step copies the memory, {size:,} bytes, because the caller may still need the old "
        "one; the first line of the module has no `input_output_alias` for it:",
        [*header_parts, *check_helpers.lines(copies)],
        "hlo",
    )


def _holds(dimensions: tuple[int, ...], least: tuple[int, int]) -> bool:
    return len(dimensions) == len(least) and dimensions[0] >= least[0] and dimensions[1] == least[1]


def _judge_loop(after: Capture, layers: int, where: str) -> Iterator[Remark]:
    matmuls = check_helpers.find_all(after.module, "dot")
    yield judge(
        len(matmuls) < layers,
        f"loop: the program contains {plural(len(matmuls), 'matmul')} for {layers} layers",
        f"loop, {where}: the program contains {plural(len(matmuls), 'matmul')}, {len(matmuls) // layers} for each of "
        f"{layers} layers: the Python loop is unrolled, which repeats every kernel",
        check_helpers.lines(matmuls),
        "hlo",
    )


def _compare(before: Reading, after: Reading) -> Iterator[str]:
    """Yield the lines of a table that compares the slow and the fixed model."""
    texts = {
        "kernels compiled": (check_helpers.count_kernels(before.step), check_helpers.count_kernels(after.step)),
        "launches of a step": (check_helpers.count_launches(before.step), check_helpers.count_launches(after.step)),
        "bytes moved by a step": (check_helpers.bytes_moved(before.step), check_helpers.bytes_moved(after.step)),
        "new memory for its result": tuple(
            reading.step.memory.outputs - reading.step.memory.aliased for reading in (before, after)
        ),
        f"compilations, {len(TEXTS)} texts": tuple(sum(map(len, reading.compiled)) for reading in (before, after)),
        "compilations of the step": tuple(
            sum(line.startswith(f"compiled {reading.name} for") for lines in reading.compiled for line in lines)
            for reading in (before, after)
        ),
    }
    for what, (old, new) in texts.items():
        yield f"{what:<26}{old:>12,}  ->{new:>12,}"
