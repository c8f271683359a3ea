"""The search for the cause of a change between two releases: the pass, the line, and the differences in code."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    UNREADABLE,
    PassDifference,
    find_difference,
    find_lines,
    list_launches,
    read_line,
    summarize_code,
    walk_inside,
)
from xla_inspect.hlo import IDLE, INCIDENTAL
from xla_inspect.questions.diff import compare_captures
from xla_inspect.units import format_bytes, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module
    from xla_inspect.questions.diff import Difference, LineChange
    from xla_inspect.questions.since.release_history import ReleaseChange

_FEW = 3
_WHOLE_LINES = 400
"""The maximum number of lines of a difference that the answer contains."""
_SLOWER = 0.05
_NOTED = re.compile(rf",? (?:{'|'.join(sorted(INCIDENTAL))})=(?:\{{[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)*\}}|\"[^\"]*\")")
_NUMBERED = re.compile(r"(%?[a-zA-Z_][\w-]*?)(?:\.\d+)+\b")


def explain_release_change(
    change: ReleaseChange,
    captures: tuple[Capture, Capture],
    *,
    count: Callable[[Module], Counter[str]] | None = None,
    pass_seconds: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {}),
) -> ReleaseChange:
    """Return a change between two releases with its cause filled in: pass, line of Python and differences in code.

    Args:
        change: The releases and their answers.
        captures: The program under the last release with the old answer, and under the first with a new answer.
        count: A function that counts the subject of the question in a module, if the question counts something.
        pass_seconds: The seconds of each pass under both releases.
    """
    old, new = captures
    releases = change.before, change.after
    difference = PassDifference("unknown")
    compared: Difference | None = None
    place, line = "", ""
    what: tuple[str, ...] = ()
    try:
        difference = find_difference(old, new, count)
        compared = compare_captures(old, new, releases)
    # A dump of an old release may have a syntax that the parser does not know; the other facts are still shown.
    except UNREADABLE:
        pass
    # These two questions have no counts by line, so the generated code is compared.
    if change.question in {"code", "run-time"}:
        kernel = _find_kernel(old, new)
        what = (f"The kernel with the largest difference is `{kernel}`",) if kernel else ()
        place, line = _find_kernel_line(new, kernel)
    elif change.question == "copies":
        place, line, what = _find_copies(old, new)
    elif change.question == "numbers":
        difference, place, line, what = _find_numbers(old, new, releases)
    elif compared is not None:
        place, line, what = _find_place(change.question, compared)
    return replace(
        change,
        stage=difference.stage,
        old_pass=difference.old,
        new_pass=difference.new,
        blamed=difference.blamed,
        maker=difference.maker,
        pipeline=difference.pipeline,
        place=place,
        line=line,
        what=what,
        slower=tuple(_list_slower(*pass_seconds)) if change.question == "compile-time" else (),
        hlo_diff=_compare_texts(_list_hlo(old.after), _list_hlo(new.after), releases),
        code_diff=_compare_texts(_list_code(old), _list_code(new), releases),
    )


def _find_place(question: str, compared: Difference) -> tuple[str, str, tuple[str, ...]]:
    """Return the place and the text of the line with the largest change, and the largest changes as text."""
    changes: Sequence[LineChange] = {
        "kernels": compared.kernels,
        "memory": compared.memory,
        "collectives": compared.collectives,
    }.get(question, ())
    # Among changes of the same size, those with a known line are more useful.
    ordered = sorted(changes, key=lambda change: (-abs(change.right - change.left), not change.file))
    show = format_bytes if question == "memory" else str
    what = tuple(f"{change.what}: {show(change.left)} -> {show(change.right)}" for change in ordered[:_FEW])
    first = next((change for change in ordered if change.file), None)
    return (f"{first.file}:{first.line}", first.text, what) if first else ("", "", what)


def _find_numbers(
    old: Capture, new: Capture, releases: tuple[str, str]
) -> tuple[PassDifference, str, str, tuple[str, ...]]:
    """Return the passes at which the results of two releases diverge, the place and text of the line, and the sizes."""
    from xla_inspect.questions.numbers import compare_programs

    try:
        answer = compare_programs(old, new, releases)
    except UNREADABLE as error:
        return PassDifference("unknown"), "", "", (str(error),)
    steps = (answer.left_step, answer.right_step)
    passes = [step.passes[-1] if step and step.passes else "" for step in steps]
    names = [name.rpartition("/")[2] for name in passes]
    origin = next((step.origin for step in reversed(steps) if step and step.origin.where), None)
    what = tuple(
        f"Result {one.output}: relative error {one.relative:.2g}, absolute {one.absolute:.2g}"
        for one in answer.after[:_FEW]
    )
    difference = PassDifference(
        "lowering" if answer.is_before_passes else "pass" if any(names) else "unknown",
        old=names[0],
        new=names[1],
        blamed=names[1] or names[0],
        pipeline=(passes[1] or passes[0]).rpartition("/")[0],
    )
    return difference, origin.where if origin else "", origin.text if origin else "", what


def _find_copies(old: Capture, new: Capture) -> tuple[str, str, tuple[str, ...]]:
    """Return the place and text of the line of new copies in loops, and a sentence for each of up to three shapes.

    If the newer compilation has no new copy, its other copies count or, without any, those of the older one.
    """

    def list_copies(capture: Capture) -> dict[str, Any]:
        copies = [launch for launch in list_launches(capture) if launch.role == "copy" and launch.within]
        # Names of instructions differ between releases, but a copy keeps its shape.
        return {launch.instruction.shape.text: launch.instruction for launch in copies}

    try:
        first, second = list_copies(old), list_copies(new)
        # The copies that only the newer compilation has come first. Without any, those of one compilation are shown.
        copies = {shape: copy for shape, copy in second.items() if shape not in first} or second or first
        lines = find_lines(new if second else old, (new if second else old).module)
    except UNREADABLE:
        return "", "", ()
    what = tuple(f"A loop copies `{shape}`" for shape in list(copies)[:_FEW])
    for instruction in copies.values():
        if line := lines.get(instruction):
            return f"{line.file}:{line.number}", read_line(new, line), what
    return "", "", what


def _find_kernel(old: Capture, new: Capture) -> str:
    """Return the name of the kernel whose code differs most between two captures, or an empty string."""
    first, second = summarize_code(old.code), summarize_code(new.code)
    if first is None or second is None:
        return ""

    def weigh(name: str) -> int:
        one, other = (Counter(of.kernels[name].lines if name in of.kernels else ()) for of in (first, second))
        return ((one - other) + (other - one)).total()

    return max((*second.kernels, *first.kernels), key=weigh, default="")


def _find_kernel_line(capture: Capture, kernel: str) -> tuple[str, str]:
    """Return the place and text of the most frequent line in a kernel's instructions, or two empty strings."""
    try:
        module = capture.module
        lines = find_lines(capture, module)
        plain = kernel.removesuffix("_computation")
        matches = [
            instruction
            for instruction in module.walk()
            if plain in {instruction.name, instruction.name.replace(".", "_")}
        ]
        matches = matches or [
            instruction
            for instruction in module.walk()
            if _NUMBERED.sub(r"\1", instruction.name) == _NUMBERED.sub(r"\1", plain)
        ]
        # Older releases generated one piece of code for all kernels, so no instruction has its name.
        inside = {inner for instruction in matches or module.entry for inner in walk_inside(module, instruction)}
    except UNREADABLE:
        return "", ""
    own = (
        lines.get(instruction)
        for instruction in module.walk()
        if instruction in inside and instruction.opcode not in IDLE
    )
    # An inferred line is weaker evidence than a line in the metadata of the instruction itself.
    counts = Counter(line for line in own if line and not line.through)
    if not counts:
        return "", ""
    (line, _) = counts.most_common(1)[0]
    return f"{line.file}:{line.number}", read_line(capture, line)


def _list_slower(old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[str]:
    """Yield texts about up to three passes that take over 0.05 s longer than before, the largest increase first."""
    increases = {name: new[name] - old.get(name, 0.0) for name in new}
    # A pass that only the older release has did not get slower.
    for name in sorted(increases, key=lambda pass_name: -increases[pass_name])[:_FEW]:
        if increases[name] > _SLOWER:
            yield f"`{name}` {format_duration(old.get(name, 0.0))} -> {format_duration(new[name])}"


def _list_hlo(text: str) -> list[str]:
    """Return the lines of a module's text without metadata and numbers in names, which may differ for equal code."""
    # The first line has the module's name and layouts of the entry, not an instruction.
    lines = (_NUMBERED.sub(r"\1", _NOTED.sub("", line)).rstrip() for line in text.splitlines()[1:])
    return [line for line in lines if line]


def _list_code(capture: Capture) -> list[str]:
    summary = summarize_code(capture.code)
    if summary is None:
        return []
    return [line for name, kernel in sorted(summary.kernels.items()) for line in (f"{name}:", *kernel.lines)]


def _compare_texts(old: Sequence[str], new: Sequence[str], releases: tuple[str, str]) -> str:
    if old == new or max(len(old), len(new)) > _MOST_COMPARED:
        return ""
    lines = list(difflib.unified_diff(old, new, *releases, lineterm="", n=2))
    cut = [f"... {len(lines) - _WHOLE_LINES} more lines"] if len(lines) > _WHOLE_LINES else []
    return "\n".join([*lines[:_WHOLE_LINES], *cut])


_MOST_COMPARED = 20_000
"""The largest number of lines that are compared. Comparing longer texts line by line would take minutes."""


def explain_release_failure(change: ReleaseChange, refused: str, folder: Path) -> ReleaseChange:
    """Return a change to or from a release whose compiler failed, with the stage that it reached.

    Args:
        change: The releases and their answers.
        refused: The compiler's error message or exit status.
        folder: The folder with the log and the dumps of the failed compiler.
    """
    running = _find_running(folder / "log")
    # The compiler dumps the optimized module after the last pass, so a failure after that is below HLO.
    is_optimized = any((folder / "dumps").glob("*after_optimizations.txt"))
    stage = "below HLO" if is_optimized else "pass" if running else "unknown"
    return replace(change, stage=stage, maker="" if is_optimized else running, what=(refused,))


def _find_running(log: Path) -> str:
    """Return the last pass in a log that began and did not end, or an empty string."""
    running: list[str] = []
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if match := _BEGUN.search(line):
                    running.append(match[1])
                # Passes can run inside other passes, so only the end of the innermost one closes it.
                elif (match := _ENDED.search(line)) and running and running[-1] == match[1]:
                    running.pop()
    except OSError:
        return ""
    return running[-1] if running else ""


_BEGUN, _ENDED = re.compile(r"\]\s+HLO pass (\S+)$"), re.compile(r"HLO pass: (\S+) time:")
