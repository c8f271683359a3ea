"""Why the answer to a question changes from one release to the next: the pass, the line of Python, the differences."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import UNREADABLE, PassDifference, find_difference, find_lines, list_launches, summarize_code
from xla_inspect.hlo import IDLE, INCIDENTAL
from xla_inspect.questions.diff import compare_captures
from xla_inspect.questions.since.release_history import ReleaseChange
from xla_inspect.units import format_bytes, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.diff import Difference, LineChange

_FEW = 3
_WHOLE_LINES = 400
"""Lines of a difference that are kept."""
_SLOWER = 0.05
_NOTED = re.compile(rf",? (?:{'|'.join(sorted(INCIDENTAL))})=(?:\{{[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)*\}}|\"[^\"]*\")")
_NUMBERED = re.compile(r"(%?[a-zA-Z_][\w-]*?)(?:\.\d+)+\b")


def explain_release_change(  # noqa: PLR0913 - what is known of it
    question: str,
    captures: tuple[Capture, Capture],
    releases: tuple[str, str],
    told: tuple[str, str],
    *,
    between: Sequence[str] = (),
    count: Callable[[Module], Counter[str]] | None = None,
    pass_seconds: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {}),
) -> ReleaseChange:
    """Return where the answer to a question changes, with what is to blame.

    Args:
        question: The question.
        captures: The program under the last release that answers as before, and under the first that does not.
        releases: The two releases.
        told: Both answers, as text.
        between: Releases between the two that could not be measured.
        count: What a stage of the module comes to, where the question is about that.
        pass_seconds: The seconds that each pass took under both.
    """
    old, new = captures
    found = PassDifference("unknown")
    compared: Difference | None = None
    place, line = "", ""
    what: tuple[str, ...] = ()
    try:
        found = find_difference(old, new, count)
        compared = compare_captures(old, new, releases)
    except UNREADABLE:
        pass
    if question in {"code", "run-time"}:
        kernel = _find_kernel(old, new)
        what = (f"kernel `{kernel}` differs most",) if kernel else ()
        place, line = _find_kernel_line(new, kernel)
    elif question == "copies":
        place, line, what = _find_copies(old, new)
    elif compared is not None:
        place, line, what = _find_place(question, compared)
    slower = tuple(_list_slower(*pass_seconds)) if question == "compile-time" else ()
    return ReleaseChange(
        question=question,
        before=releases[0],
        after=releases[1],
        between=tuple(between),
        old=told[0],
        new=told[1],
        stage=found.stage,
        old_pass=found.old,
        new_pass=found.new,
        blamed=found.blamed,
        maker=found.maker,
        pipeline=found.pipeline,
        place=place,
        line=line,
        what=what,
        slower=slower,
        hlo_diff=_compare_texts(_list_hlo(old.after), _list_hlo(new.after), releases),
        code_diff=_compare_texts(_list_code(old), _list_code(new), releases),
    )


def _find_place(question: str, compared: Difference) -> tuple[str, str, tuple[str, ...]]:
    """Return the line at which most came or went, and what."""
    changes: Sequence[LineChange] = {
        "kernels": compared.kernels,
        "memory": compared.memory,
        "collectives": compared.collectives,
    }.get(question, ())
    ordered = sorted(changes, key=lambda each: (-abs(each.right - each.left), not each.file))
    show = format_bytes if question == "memory" else str
    what = tuple(f"{each.what}: {show(each.left)} -> {show(each.right)}" for each in ordered[:_FEW])
    first = next((each for each in ordered if each.file), None)
    return (f"{first.file}:{first.line}", first.text, what) if first else ("", "", what)


def _find_copies(old: Capture, new: Capture) -> tuple[str, str, tuple[str, ...]]:
    """Return the line of the copies in loops that only the newer compile has, or only the older, and what they copy."""

    def list_copies(capture: Capture) -> dict[str, Any]:
        copies = [each for each in list_launches(capture) if each.role == "copy" and each.within]
        return {each.instruction.shape.text: each.instruction for each in copies}

    try:
        first, second = list_copies(old), list_copies(new)
        came = {shape: each for shape, each in second.items() if shape not in first} or second or first
        lines = find_lines(new if second else old, (new if second else old).module)
    except UNREADABLE:
        return "", "", ()
    what = tuple(f"copied in a loop: `{shape}`" for shape in list(came)[:_FEW])
    for instruction in came.values():
        if found := lines.get(instruction):
            return f"{found.file}:{found.number}", _read_line(new, found.file, found.number), what
    return "", "", what


def _find_kernel(old: Capture, new: Capture) -> str:
    """Return the kernel whose code differs most between two compiles."""
    first, second = summarize_code(old.code), summarize_code(new.code)
    if first is None or second is None:
        return ""

    def weigh(name: str) -> int:
        one, other = (Counter(of.kernels[name].lines if name in of.kernels else ()) for of in (first, second))
        return ((one - other) + (other - one)).total()

    return max((*second.kernels, *first.kernels), key=weigh, default="")


def _find_kernel_line(capture: Capture, kernel: str) -> tuple[str, str]:
    """Return the line of Python that most of a kernel's instructions are of, those of what it calls among them."""
    try:
        module = capture.module
        lines = find_lines(capture, module)
        plain = kernel.removesuffix("_computation")
        named = [each for each in module.walk() if plain in {each.name, each.name.replace(".", "_")}]
        named = named or [
            each for each in module.walk() if _NUMBERED.sub(r"\1", each.name) == _NUMBERED.sub(r"\1", plain)
        ]
        # Older releases made one piece of all kernels.
        inside = list(_walk_called(module, named or module.entry))
    except UNREADABLE:
        return "", ""
    found = Counter(
        (line.file, line.number)
        for each in inside
        if each.opcode not in IDLE and (line := lines.get(each)) and not line.through
    )
    if not found:
        return "", ""
    (file, number), _ = found.most_common(1)[0]
    return f"{file}:{number}", _read_line(capture, file, number)


def _walk_called(module: Module, instructions: Iterable[Instruction]) -> Iterator[Instruction]:
    """Yield instructions and those of all that they call."""
    waiting, seen = list(instructions), set[str]()
    while waiting:
        instruction = waiting.pop()
        yield instruction
        for called in module.called(instruction):
            if called.name not in seen:
                seen.add(called.name)
                waiting += called


def _read_line(capture: Capture, file: str, number: int) -> str:
    lines = capture.sources.get(file, "").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _list_slower(old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[str]:
    """Yield the passes that take longer than before, the one that adds most first."""
    added = {name: new[name] - old.get(name, 0.0) for name in new}
    for name in sorted(added, key=lambda each: -added[each])[:_FEW]:
        if added[name] > _SLOWER:
            yield f"`{name}` {format_duration(old.get(name, 0.0))} -> {format_duration(new[name])}"


def _list_hlo(text: str) -> list[str]:
    """Return the lines of a module without notes and the numbers in names, which differ though nothing does."""
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
"""Lines above which two texts are not compared line by line, which would take minutes."""


def explain_release_failure(  # noqa: PLR0913, PLR0917 - what is known of it
    question: str,
    releases: tuple[str, str],
    told: tuple[str, str],
    between: Sequence[str],
    refused: str,
    folder: Path,
) -> ReleaseChange:
    """Return where an answer changes of which one release's compiler made no program.

    Args:
        question: The question.
        releases: The last release that answers as before, and the first that does not.
        told: Both answers, as text.
        between: Releases between the two that could not be measured.
        refused: What the compiler said, or how it ended.
        folder: What the compiler that ended left: its log, and its dumps until then.
    """
    running = _find_running(folder / "log")
    done = any((folder / "dumps").glob("*after_optimizations.txt"))
    stage = "below HLO" if done else "pass" if running else "unknown"
    return ReleaseChange(
        question=question,
        before=releases[0],
        after=releases[1],
        between=tuple(between),
        old=told[0],
        new=told[1],
        stage=stage,
        maker="" if done else running,
        what=(refused,),
    )


def _find_running(log: Path) -> str:
    """Return the pass that began last and did not end, as a log tells."""
    begun: list[str] = []
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if match := _BEGUN.search(line):
                    begun.append(match[1])
                elif (match := _ENDED.search(line)) and begun and begun[-1] == match[1]:
                    begun.pop()
    except OSError:
        return ""
    return begun[-1] if begun else ""


_BEGUN, _ENDED = re.compile(r"\]\s+HLO pass (\S+)$"), re.compile(r"HLO pass: (\S+) time:")
