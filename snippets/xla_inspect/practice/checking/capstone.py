"""What the capstone is judged by: what a model compiles while it reads, and the program of its step."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from xla_inspect import capture
from xla_inspect.practice.checking import measures
from xla_inspect.practice.checking.finding import Finding, WrongError, bad, good, judge
from xla_inspect.report.listing import print_instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from xla_inspect.hlo.module import Instruction, Module
    from xla_inspect.hlo.record import Capture
    from xla_inspect.practice.checking.written import Written

FIRST, SECOND = (64, 48, 17, 64, 5), (50, 29, 64)
"""How many tokens the pieces of two texts have."""


TABLE = (
    "slow and mended (a loop launches its counter and the slices of the stacked weights too: more launches, of a "
    "program that no longer grows with the layers):"
)


@dataclass
class Recorder:
    """A `step` that notes with which arguments it is called.

    Attributes:
        step: What is called.
        calls: Positional and named arguments of each call, shapes in place of arrays.
    """

    step: Callable[..., Any]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the reader's step takes
        """Note the arguments, and call it."""
        self.calls.append(jax.tree.map(_abstract, (args, kwargs)))
        return self.step(*args, **kwargs)


def _abstract(leaf: Any) -> Any:  # noqa: ANN401 - a leaf is whatever the reader passed
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else leaf


@dataclass(frozen=True)
class Reading:
    """What a model did with two texts.

    Attributes:
        memories: What it returned for each.
        compiled: What it compiled during each, a line for each program.
        step: The program of its step, for the longest piece that it was given.
        name: What the function of the step is called in those lines.
    """

    memories: tuple[np.ndarray, np.ndarray]
    compiled: tuple[list[str], list[str]]
    step: Capture
    name: str

    @property
    def of_step(self) -> list[str]:
        """The compiles of the step alone."""
        return [line for line in self.compiled[0] if line.startswith(f"compiled {self.name} for")]


def check_model(written: Written) -> Iterator[Finding]:
    """The same memory as the slow model's, and none of its four causes."""
    where = written.locate("step")
    slow = importlib.import_module("practice.capstone.slow")
    before, after = _watch(slow, slow.__name__, "slow.py"), _watch(written.module, slow.__name__, written.where)
    for lengths, wanted, found in zip((FIRST, SECOND), before.memories, after.memories, strict=True):
        if found.shape != wanted.shape:
            text = (
                f"{written.locate('read')}: it returns {measures.say_shape(found)}, and {measures.say_shape(wanted)} "
                "is asked for"
            )
            raise WrongError(bad(text))
        end = sum(lengths)
        if np.any(found[end:]):
            text = (
                f"{written.locate('read')}: a text of {end} tokens leaves numbers in rows of the memory behind it, "
                "which should stay zero; rows that only fill a piece up are no tokens, so let `step` keep what is there"
            )
            raise WrongError(bad(text))
        measures.expect_numbers(found, wanted, f"{written.locate('read')}, the memory after a text", tolerance=1e-3)
    yield good("the memory is that of the slow model, after both texts")
    yield from _judge_shapes(after, written.locate("read"))
    yield from _judge_transposition(before.step, after.step, where)
    yield from _judge_donation(after.step, (slow.LENGTH, slow.WIDTH), where)
    yield from _judge_loop(after.step, slow.LAYERS, where)
    yield Finding(good=True, text=TABLE, lines=tuple(_compare(before, after)))


def _watch(model: ModuleType, slow: str, where: str) -> Reading:
    """Let a model read two texts, and return what it did."""
    step = getattr(model, "step", None)
    if not callable(step) or not hasattr(step, "lower"):
        raise WrongError(bad(f"{where}: `step` is no jitted function; decorate it with `jax.jit`"))
    layers = importlib.import_module(slow).make_layers()
    recorder = Recorder(step)
    memories, compiled = [], []
    vars(model)["step"] = recorder
    try:
        for seed, lengths in enumerate((FIRST, SECOND)):
            pieces = [measures.random(length, 128, seed=10 * seed + at) for at, length in enumerate(lengths)]
            with measures.compiles() as lines:
                memories.append(np.asarray(model.read(layers, pieces)))
            compiled.append(lines)
    finally:
        vars(model)["step"] = step
    if len(recorder.calls) < len(FIRST) + len(SECOND):
        text = (
            f"{where}: `read` called `step` {len(recorder.calls)} times for {len(FIRST) + len(SECOND)} pieces; let it "
            "take each"
        )
        raise WrongError(bad(text))
    args, kwargs = recorder.calls[0]
    name = getattr(step, "__name__", "step")
    return Reading((memories[0], memories[1]), (compiled[0], compiled[1]), capture(step, *args, **kwargs), name)


def _judge_shapes(after: Reading, where: str) -> Iterator[Finding]:
    again = after.compiled[1]
    yield judge(
        len(after.of_step) == 1,
        "shape: `step` is compiled once, for pieces of all lengths",
        f"shape, {where}: `step` is compiled {len(after.of_step)} times while a text of {len(FIRST)} pieces is read; "
        "its key is the shape of each argument",
        after.of_step,
    )
    if len(after.of_step) == 1:
        yield judge(
            not again,
            "shape: a second text, with pieces of other lengths, compiles nothing",
            f"shape, {where}: a second text, with pieces of other lengths, compiles {len(again)} programs; what `jnp` "
            "does outside of `step` is compiled for each shape too, and NumPy's is not",
            again,
        )


def _judge_transposition(before: Capture, after: Capture, where: str) -> Iterator[Finding]:
    """Whether the exponentials are fused with the product before them, where this compiler does that at all."""
    exponentials = measures.find_all(after.module, "exponential")
    apart = [each for each in exponentials if not _has_product(after.module, each)]
    products = [each for each in measures.find_all(after.module, "dot") if _is_turned(each)]
    lines = [*measures.lines(products), *(f"%{each.computation}: {print_instruction(each)}" for each in apart)]
    yield judge(
        not products and not (apart and _fuses_products(before)),
        "transposition: no product takes a transposed operand, and the exponentials are fused with the one before them"
        if not apart
        else "transposition: no product takes a transposed operand",
        f"transposition, {where}: {len(products)} products contract the first dimension of what they take "
        "(`lhs_contracting_dims={0}`), which is a transposed matrix, and the exponentials are in a fusion without the "
        "product; let a row belong to each token",
        lines,
        "hlo",
    )


def _is_turned(product: Instruction) -> bool:
    return product.attributes.get("lhs_contracting_dims") == "{0}"


def _has_product(module: Module, instruction: Instruction) -> bool:
    return any(each.opcode == "dot" for each in module.computation(instruction.computation))


def _fuses_products(slow: Capture) -> bool:
    """Return whether this machine's compiler has fusions of a library that takes products and sums alike."""
    return "ynn_fusion" in slow.after


def _judge_donation(after: Capture, size: tuple[int, int], where: str) -> Iterator[Finding]:
    taken = [int(number) for number in re.findall(r"\((\d+), \{\}", after.module.input_output_alias or "")]
    same = [each for each in after.module.entry if each.shape.is_array and each.shape.dimensions == size]
    memory = [each.parameter_number for each in same if each.opcode == "parameter"]
    copies = [each for each in same if each.opcode == "copy"]
    header = after.after.partition("\n")[0]
    shown = [part for part in re.split(r", (?=\w+=)", header) if part.startswith(("HloModule", "input_output"))]
    yield judge(
        any(number in memory for number in taken) and not copies,
        "donation: the memory is updated where it lies",
        f"donation, {where}: the memory is copied, {sum(each.shape.bytes for each in same[:1]):,} bytes a step, since "
        "the caller may still need the old one; no `input_output_alias` for it stands in the first line:",
        [*shown, *measures.lines(copies)],
        "hlo",
    )


def _judge_loop(after: Capture, layers: int, where: str) -> Iterator[Finding]:
    products = measures.find_all(after.module, "dot")
    yield judge(
        len(products) < layers,
        f"loop: {len(products)} products stand in the program, for {layers} layers",
        f"loop, {where}: {len(products)} products stand in the program, {len(products) // layers} for each of "
        f"{layers} layers: the Python loop is written out, and so is every kernel",
        measures.lines(products),
        "hlo",
    )


def _compare(before: Reading, after: Reading) -> Iterator[str]:
    """Yield the table of what was and what is."""
    texts = {
        "kernels compiled": (measures.count_kernels(before.step), measures.count_kernels(after.step)),
        "launches of a step": (measures.count_launches(before.step), measures.count_launches(after.step)),
        "bytes moved by a step": (measures.bytes_moved(before.step), measures.bytes_moved(after.step)),
        "new memory for its result": tuple(
            each.step.memory.outputs - each.step.memory.aliased for each in (before, after)
        ),
        "compiles for two texts": tuple(sum(map(len, each.compiled)) for each in (before, after)),
        "of these, of the step": tuple(
            sum(line.startswith(f"compiled {each.name} for") for lines in each.compiled for line in lines)
            for each in (before, after)
        ),
    }
    for what, (old, new) in texts.items():
        yield f"{what:<26}{old:>12,}  ->{new:>12,}"
