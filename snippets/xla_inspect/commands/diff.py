"""`xla-inspect diff`: two subjects, or one with an earlier commit, another target or other options."""

from __future__ import annotations

import argparse
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Times
from xla_inspect.commands import child_process, command_list, question, revisions
from xla_inspect.errors import InspectError
from xla_inspect.questions.diff import compare_captures
from xla_inspect.subject import Request, is_dump, is_saved, list_call_options, read_dump, read_saved
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.captured import Capture

_TWO = 2
_OPTION = re.compile(r"[\w-]+=.*", re.DOTALL)
_REVISIONS = 2
NOW = "now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is compared, and in which form it is told."""
    question.add_arguments(parser, many=False)
    with_what = parser.add_argument_group("what it is compared with, where that is no second SUBJECT")
    with_what.add_argument(
        "--rev",
        metavar="COMMIT",
        action="append",
        default=[],
        help="as a git commit has it; two compare with each other",
    )
    with_what.add_argument("--against-target", metavar="NAME", default="", help="compiled for another target")
    with_what.add_argument(
        "--with",
        metavar="OPTION",
        dest="changed",
        action="append",
        default=[],
        help="with another option, of XLA (--with xla_gpu_enable_triton_gemm=false) or of this command "
        "(--with=--donate=0); may repeat",
    )
    question.add_forms(parser)


@dataclass(frozen=True)
class Side:
    """What is compiled for one side.

    Attributes:
        name: What it is called.
        words: The subject.
        target: The target, or an empty string for that which a saved capture has, or the usual.
        more: Further words of the command line.
        revision: The commit that has it, or an empty string for the files as they are.
    """

    name: str
    words: tuple[str, ...]
    target: str
    more: tuple[str, ...] = ()
    revision: str = ""


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Compare two programs, print what differs, and return the exit status: 1 where anything does.

    Raises:
        InspectError: There are not two sides, or one of them cannot be had.
    """
    sides = find_sides(options)
    with tempfile.TemporaryDirectory(prefix="xla_inspect_diff_") as folder:
        captures: list[Capture] = []
        for number, side in enumerate(sides):
            place = Path(folder) / str(number)
            place.mkdir()
            made = _compile(side, options, place)
            if isinstance(made, int):
                return made
            captures.append(made.retold(times=Times()) if options.no_times else made)
    captures = [*use_lines_of(options.lines_of, *captures)]
    answer = compare_captures(captures[0], captures[1], (sides[0].name, sides[1].name))
    question.print_answers([answer], captures[1].program, options, out)
    return 0 if answer.holds else command_list.NO


def find_sides(options: argparse.Namespace) -> tuple[Side, Side]:
    """Return the two that are compared.

    Raises:
        InspectError: The command line does not say two.
    """
    subjects = split_subjects(options.subject)
    changed = options.against_target or options.changed
    if len(subjects) > _TWO or (len(subjects) == _TWO and options.rev) or len(options.rev) > _REVISIONS:
        message = "diff compares two: two SUBJECTs, or one SUBJECT with one or two --rev COMMIT"
        raise InspectError(message)
    if len(subjects) == 1 and not (changed or options.rev):
        message = (
            "diff compares two: name a second SUBJECT, or say --rev COMMIT, --against-target NAME or --with OPTION"
        )
        raise InspectError(message)
    first, second = subjects[0], subjects[-1]
    target = options.target or next((name for name in map(_find_target, subjects) if name not in {"", "unknown"}), "")
    more = tuple(word for each in options.changed for word in _read_change(each))
    if len(subjects) == _TWO:
        names = [" ".join(first), " ".join(second)]
    elif options.rev:
        names = [options.rev[0], options.rev[1] if len(options.rev) == _REVISIONS else NOW]
    else:
        names = ["", ""]
    if options.against_target:
        names = [f"{names[0]} {target or 'cpu'}".strip(), f"{names[1]} {options.against_target}".strip()]
    if options.changed:
        names = [names[0] or "as it is", f"{names[1]} with {' '.join(options.changed)}".strip()]
    revisions_of = [*options.rev, "", ""]
    return (
        Side(names[0], first, target, (), revisions_of[0]),
        Side(names[1], second, options.against_target or target, more, revisions_of[1]),
    )


def split_subjects(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the subjects of a command line, of which a script with its arguments is the last."""
    at = words.index("run") if "run" in words else len(words)
    return [*((word,) for word in words[:at]), *([tuple(words[at:])] if at < len(words) else [])]


def _find_target(words: Sequence[str]) -> str:
    """Return the target that a saved capture is for, or an empty string for any other subject."""
    return next(iter(_read(words)), "") if _is_captured(words[0]) else ""


def _is_captured(named: str) -> bool:
    """Return whether a subject is a capture or a dump, and needs no compile."""
    return is_saved(named) or is_dump(named)


def _read(words: Sequence[str]) -> dict[str, Capture]:
    """Return the capture that a subject is which needs no compile, by its target."""
    request = Request(tuple(words))
    return (read_saved(request) if is_saved(words[0]) else read_dump(request)).saved


def _read_change(text: str) -> tuple[str, ...]:
    """Return an option by which a side differs as words of the command line."""
    if text.startswith("--") and not text.startswith("--xla_"):
        return tuple(shlex.split(text))
    if not _OPTION.fullmatch(text):
        message = (
            f"--with {text}: that is no option; write an option of XLA with its value, as in "
            "--with xla_gpu_enable_triton_gemm=false, or one of this command, as in --with=--donate=0; "
            "a second SUBJECT is named without --with"
        )
        raise InspectError(message)
    return ("--xla", text)


def _compile(side: Side, options: argparse.Namespace, folder: Path) -> Capture | int:
    """Return the capture of a side, made in a process of its own, or the exit status where there is none."""
    words, working = side.words, None
    paths: tuple[str, ...] = ()
    if _is_captured(words[0]):
        if side.revision or side.more:
            message = f"{words[0]} is no program to compile again: it is of one commit, with the options that it has"
            raise InspectError(message)
        (found,) = _read(words).values()
        if side.target and found.target.partition(":")[0] not in {side.target.partition(":")[0], "unknown"}:
            message = f"{words[0]} is a capture for {found.target}, and not for {side.target}"
            raise InspectError(message)
        return found
    if side.revision:
        words, working, paths = revisions.check_out(words, side.revision, folder)
    file = folder / "side.xla.json"
    target = ("--target", side.target) if side.target else ()
    line = ["show", "--stage", "capture", "-o", str(file), *_repeat(options), *target, *side.more, *words]
    asked = argparse.Namespace(subject=[*words], target=side.target, load_limit=options.load_limit, debug=options.debug)
    status = child_process.run_apart(line, asked, folder=working, paths=paths)
    if not file.is_file():
        print_note(f"so there is nothing to compare with: that was {side.name}")
        return status or command_list.BAD_INPUT
    (found,) = read_saved(Request((str(file),))).saved.values()
    return found


def _repeat(options: argparse.Namespace) -> list[str]:
    """Return the options that both sides have, as words of a command line."""
    own = [f"--load-limit={options.load_limit}", *(["--debug"] if options.debug else [])]
    return [*own, *list_call_options(options)]
