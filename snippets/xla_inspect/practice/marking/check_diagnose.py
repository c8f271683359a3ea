"""What the second capstone is judged by: faults, each proved by a line of the dump, and the cure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax

from xla_inspect.analysis import print_instruction
from xla_inspect.compilation import capture
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.dump_faults import FAULTS
from xla_inspect.practice.marking.puzzles import make_arguments
from xla_inspect.practice.marking.verdict import Remark, bad, good, judge
from xla_inspect.spelling import suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.practice.marking.submission import Submission

_NAMED = re.compile(r"\s*(?:ROOT\s+)?%?([\w.-]+)\s*(=.*)?$", re.DOTALL)
"""A line of a dump, or the name of its instruction."""

_MADE = re.compile(r"\s*\(?\w+\[[^=]*\}?\s+[\w-]+\(")
"""What a line makes, from its shape to its opcode, as in `f32[8]{0} add(`."""

SCALES = (1.0, 1.0, 8.0)
"""How large the numbers of each input are."""


def check_diagnose(submission: Submission) -> Iterator[Remark]:
    """All faults found, each proved by its line, and none of the eight left."""
    patient = submission.companion("patient")
    before = capture(patient.step, *patient.EXAMPLE, passes=False)
    diagnosis = [*_judge_faults(submission, before)]
    yield from diagnosis
    if not all(remark.good for remark in diagnosis):
        return
    step, where = submission.function("step"), submission.locate("step")
    example = submission.given.EXAMPLE
    _expect_same(submission, patient, where)
    yield good(f"the shares and the memory are those of the slow model, for {len(SCALES)} inputs")
    after = capture(step, *example, passes=False)
    for fault, find in FAULTS.items():
        proofs = find(after)
        if proofs or find(before):
            yield judge(
                not proofs,
                f"{fault}: mended",
                f"{fault}, {where}: these lines of what your `step` compiles to show it",
                check_helpers.lines(proofs),
                "hlo",
            )
    yield Remark(good=True, text="slow and mended:", lines=tuple(_compare(before, after)))


def _judge_faults(submission: Submission, before: Capture) -> Iterator[Remark]:
    """Judge each fault that was written down, and say how many more there are, and not which."""
    where, written = submission.locate("FAULTS"), getattr(submission.module, "FAULTS", None)
    if not isinstance(written, dict):
        yield bad(f"{where}: `FAULTS` is {written!r}, and a dict is asked for, from a fault to the line that proves it")
        return
    found = 0
    for fault, line in written.items():
        if fault not in FAULTS:
            yield bad(f"{where}: no fault is called {fault!r}; {suggest_name(str(fault), FAULTS, 'the eight are')}")
            continue
        shown, refused = _look_up(line, before)
        if refused:
            yield bad(f"{where}: {fault}: {refused}")
            continue
        proofs = FAULTS[fault](before)
        proves = all(each in proofs for each in shown)
        found += proves
        yield judge(
            proves,
            f"{fault}: {' and '.join(f'`%{each.name}`' for each in shown)} {'shows' if len(shown) == 1 else 'show'} it",
            f"{where}: {fault}: this line of the dump does not show it"
            if len(shown) == 1
            else f"{where}: {fault}: {len(shown)} lines of the dump read so, and not all of them show it",
            [print_instruction(each) for each in shown],
            "hlo",
        )
    there = sum(bool(find(before)) for find in FAULTS.values())
    yield judge(
        found >= there,
        f"{plural(there, 'fault')} in the dump, and all of them found",
        f"{where}: the dump shows {plural(there, 'fault')}, and {found} of them {'is' if found == 1 else 'are'} proved",
    )


def _look_up(line: object, before: Capture) -> tuple[list[Instruction], str]:
    """Return the instructions of this machine's dump that a text stands for, or why there are none.

    A name, or a number in it, may be that of another machine's dump, so a line whose name is not found is looked up by
    what it makes: its shape and its opcode.
    """
    match = _NAMED.match(line) if isinstance(line, str) else None
    made = line.strip() if isinstance(line, str) and _MADE.match(line) else ""
    if match is None and not made:
        return [], f"{line!r} is no line of the dump, and no name of an instruction"
    everything = [*before.module.walk()]
    named = [each for each in everything if match and each.name == match[1]][:1]
    if named and match and match[2] and not _is_like(match[2], print_instruction(named[0])):
        printed = print_instruction(named[0])[:100]
        named, refused = [], f"`%{match[1]}` is in the dump, but its line reads otherwise: {printed}"
    else:
        refused = f"no instruction of the dump is called `{match[1]}`" if match else f"no line of the dump has `{made}`"
    made = made or (match[2] if match else None) or ""
    if not named and made:
        named = [each for each in everything if _is_like(made, print_instruction(each))]
    return named, "" if named else refused


def _is_like(written: str, printed: str) -> bool:
    """Return whether a line begins as the dump has it, up to its operands; metadata and spaces do not matter."""
    ours, theirs = (" ".join(each.partition("(")[0].split()) for each in (written, printed.partition(" = ")[2]))
    return ours.removeprefix("= ") == theirs


def _expect_same(submission: Submission, patient: ModuleType, where: str) -> None:
    """Do nothing where the numbers are those of the slow model.

    Raises:
        WrongError: They differ, or are computed where no compiler sees it.
    """
    step = submission.function("step")
    check_helpers.expect_shapes(step, submission.given.EXAMPLE, jax.eval_shape(patient.step, *patient.EXAMPLE), where)
    mine = step if hasattr(step, "lower") else jax.jit(step)
    for seed, scale in enumerate(SCALES):
        weights, memory, position, ids = make_arguments(patient.EXAMPLE, seed, scale)
        # A piece that reaches beyond the end is moved back; this one does not.
        position = position % (patient.LENGTH - patient.PIECE)
        expected = patient.step(weights, memory, position, ids)
        result = mine(weights, patient.POSITIONS, memory.copy(), position, ids)
        check_helpers.expect_numbers(result, expected, where, tolerance=1e-3)


def _compare(before: Capture, after: Capture) -> Iterator[str]:
    """Yield the table of what was and what is."""
    measured: dict[str, Callable[[Capture], int]] = {
        "kernels": check_helpers.count_kernels,
        "bytes read and written": check_helpers.bytes_moved,
        "new memory for its results": lambda found: found.memory.outputs - found.memory.aliased,
    }
    for what, count in measured.items():
        yield f"{what:<28}{count(before):>12,}  ->{count(after):>12,}"
