"""Checks of the second capstone: faults, each proven by a line of the dump, and their fixes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax

from xla_inspect.analysis import print_instruction
from xla_inspect.compilation import capture
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.dump_faults import FAULTS
from xla_inspect.practice.marking.puzzles import list_inputs
from xla_inspect.practice.marking.verdict import Remark, bad, good, judge
from xla_inspect.spelling import suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.practice.marking.submission import Submission

_NAMED = re.compile(r"\s*(?:ROOT\s+)?%?([\w.-]+)\s*(=.*)?$", re.DOTALL)
"""A line of a dump, or only the name of its instruction."""

_MADE = re.compile(r"\s*\(?\w+\[[^=]*\}?\s+[\w-]+\(")
"""The part of a line from the shape to the opcode, such as `f32[8]{0} add(`."""


def check_diagnose(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on the reader's `FAULTS`, each with its proof in the dump; if all are right, also on `step`."""
    patient = submission.companion("patient")
    before = capture(patient.step, *patient.EXAMPLE, passes=False)
    diagnosis = [*_judge_faults(submission, before)]
    yield from diagnosis
    # The fixed step is marked only after the diagnosis, so that the remarks do not reveal a fault that is not found
    # yet.
    if not all(remark.good for remark in diagnosis):
        return
    step, where = submission.function("step"), submission.locate("step")
    example = submission.given.EXAMPLE
    yield _expect_same(submission, patient, where)
    after = capture(step, *example, passes=False)
    for fault, find in FAULTS.items():
        proofs = find(after)
        if proofs or find(before):
            yield judge(
                not proofs,
                f"{fault}: fixed",
                f"{fault}, {where}: these lines of your compiled `step` show the fault",
                check_helpers.lines(proofs),
                "hlo",
            )
    yield Remark(good=True, text="slow and fixed:", lines=tuple(_compare(before, after)))


def _judge_faults(submission: Submission, before: Capture) -> Iterator[Remark]:
    """Yield a remark on each fault in the reader's `FAULTS`, and one on the number of faults proven of all faults."""
    where, faults = submission.locate("FAULTS"), getattr(submission.module, "FAULTS", None)
    if not isinstance(faults, dict):
        yield bad(f"{where}: `FAULTS` is {faults!r}, but it must be a dict from each fault to the line that proves it")
        return
    proven = 0
    for fault, line in faults.items():
        if fault not in FAULTS:
            yield bad(
                f"{where}: no fault is called {fault!r}; {suggest_name(str(fault), FAULTS, 'the eight faults are')}"
            )
            continue
        instructions, refused = _look_up(line, before)
        if refused:
            yield bad(f"{where}: {fault}: {refused}")
            continue
        proofs = FAULTS[fault](before)
        proves = all(instruction in proofs for instruction in instructions)
        names = " and ".join(f"`%{instruction.name}`" for instruction in instructions)
        proven += proves
        yield judge(
            proves,
            f"{fault}: {names} {'shows' if len(instructions) == 1 else 'show'} it",
            f"{where}: {fault}: this line of the dump does not show the fault"
            if len(instructions) == 1
            else f"{where}: {fault}: {len(instructions)} lines of the dump match, but not all of them show the fault",
            [print_instruction(instruction) for instruction in instructions],
            "hlo",
        )
    there = sum(bool(find(before)) for find in FAULTS.values())
    yield judge(
        proven >= there,
        f"you have proven all faults in the dump: {there}",
        f"{where}: the dump shows {plural(there, 'fault')}, but you have proven only {proven}",
    )


def _look_up(line: object, before: Capture) -> tuple[list[Instruction], str]:
    """Return the instructions of this machine's dump that match a text, and the reason if there are none, otherwise "".

    A name, or a number in it, may come from another machine's dump, so a line whose name is not found is looked up by
    its shape and opcode.
    """
    match = _NAMED.match(line) if isinstance(line, str) else None
    signature = line.strip() if isinstance(line, str) and _MADE.match(line) else ""
    if match is None and not signature:
        return [], f"{line!r} is neither a line of the dump nor the name of an instruction"
    everything = [*before.module.walk()]
    # Only the first match is used, since a name in the dump belongs to one instruction.
    matches = [instruction for instruction in everything if match and instruction.name == match[1]][:1]
    if matches and match and match[2] and not _is_like(match[2], print_instruction(matches[0])):
        text = print_instruction(matches[0])[:100]
        matches, refused = [], f"`%{match[1]}` is in the dump, but its line reads otherwise: {text}"
    else:
        refused = (
            f"no instruction of the dump is called `{match[1]}`" if match else f"no line of the dump has `{signature}`"
        )
    signature = signature or (match[2] if match else None) or ""
    if not matches and signature:
        matches = [instruction for instruction in everything if _is_like(signature, print_instruction(instruction))]
    return matches, "" if matches else refused


def _is_like(answer: str, dump_line: str) -> bool:
    """Return whether an answer without its name has the shape and opcode of a dump's line; the rest does not matter."""
    ours, theirs = (" ".join(line.partition("(")[0].split()) for line in (answer, dump_line.partition(" = ")[2]))
    return ours.removeprefix("= ") == theirs


def _expect_same(submission: Submission, patient: ModuleType, where: str) -> Remark:
    """Return a remark that the numbers equal those of the slow model.

    Raises:
        WrongError: They differ, or Python computes them in a callback.
    """
    step = submission.function("step")
    check_helpers.expect_shapes(step, submission.given.EXAMPLE, jax.eval_shape(patient.step, *patient.EXAMPLE), where)
    mine = step if hasattr(step, "lower") else jax.jit(step)
    inputs = [*list_inputs(patient.EXAMPLE, patient.WORDS, 10, {})]
    for words, (weights, memory, position, ids) in inputs:
        # The last piece fills the memory; a piece that extended beyond the end would be moved back.
        at = patient.LENGTH - patient.PIECE if words == "the last row" else position
        expected = patient.step(weights, memory, at, ids)
        result = mine(weights, patient.POSITIONS, memory.copy(), at, ids)
        check_helpers.expect_numbers(result, expected, f"{where}, for {words}", tolerance=1e-3)
    return good(f"the probabilities and the memory equal those of the slow model for {len(inputs)} inputs")


def _compare(before: Capture, after: Capture) -> Iterator[str]:
    """Yield the lines of a table that compares the slow and the fixed model."""
    measured: dict[str, Callable[[Capture], int]] = {
        "kernels": check_helpers.count_kernels,
        "bytes read and written": check_helpers.bytes_moved,
        "new memory for its results": lambda capture: capture.memory.outputs - capture.memory.aliased,
    }
    for what, count in measured.items():
        yield f"{what:<28}{count(before):>12,}  ->{count(after):>12,}"
