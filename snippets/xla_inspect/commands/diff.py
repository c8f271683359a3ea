"""The command `xla-inspect diff`, which compares two subjects, or one subject with another commit, target or option."""

from __future__ import annotations

import argparse
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect import stablehlo
from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Times
from xla_inspect.commands import child_process, command_list, question, revisions
from xla_inspect.errors import InspectError
from xla_inspect.questions.diff import compare_captures
from xla_inspect.subject import Request, is_dump, is_saved, list_call_options, read_dump, read_saved, split_list
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture

_TWO = 2
_OF_FUNCTION = {"args": "", "args_from": "", "grad": False, "vmap": 0, "static": []}
"""The options that need a Python function, each with its default."""
_OPTION = re.compile(r"[\w-]+=.*", re.DOTALL)
_REVISIONS = 2
NOW = "now"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a subject, compiled for a target with options, from a commit or the current files.

    Attributes:
        name: The name of the side.
        words: The subject.
        target: The target, or an empty string for the target of a saved capture or the default.
        more: Further words of the command line.
        revision: The commit, or an empty string for the current files.
    """

    name: str
    words: tuple[str, ...]
    target: str
    more: tuple[str, ...] = ()
    revision: str = ""


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Compare two programs, print the differences, and return the exit status: 1 if there is a difference.

    Raises:
        InspectError: The command line does not have two sides, or one of them cannot be compiled or read.
    """
    if not options.numbers and (options.inputs != "random" or options.seed):
        message = "--inputs and --seed are for the comparison of results; add --numbers"
        raise InspectError(message)
    sides = find_sides(options)
    with tempfile.TemporaryDirectory(prefix="xla_inspect_diff_") as folder:
        captures: list[Capture] = []
        for number, side in enumerate(sides):
            # Both sides write files with the same names, so each side has a folder of its own.
            place = Path(folder) / str(number)
            place.mkdir()
            capture = _compile(side, options, place)
            if isinstance(capture, int):
                return capture
            captures.append(capture.retold(times=Times()) if options.no_times else capture)
    captures = [*use_lines_of(options.lines_of, *captures)]
    names = (sides[0].name, sides[1].name)
    answer: Answer
    if options.numbers:
        from xla_inspect.questions.numbers import compare_programs

        answer = compare_programs(captures[0], captures[1], names, options.inputs, options.seed)
    else:
        answer = compare_captures(captures[0], captures[1], names)
    question.print_answers([answer], captures[1].program, options, out)
    return 0 if answer.holds else command_list.NO


def find_sides(options: argparse.Namespace) -> tuple[Side, Side]:
    """Return the two sides of the comparison.

    Raises:
        InspectError: The command line does not have two sides.
    """
    subjects = split_subjects(options.subject)
    has_option = options.against_target or options.changed
    if len(subjects) > _TWO or (len(subjects) == _TWO and options.rev) or len(options.rev) > _REVISIONS:
        message = "diff compares two programs: pass two SUBJECTs, or one SUBJECT with one or two --rev COMMIT"
        raise InspectError(message)
    if len(subjects) == 1 and not (has_option or options.rev):
        message = (
            "diff compares two programs: pass a second SUBJECT, --rev COMMIT, --against-target NAME or --with OPTION"
        )
        raise InspectError(message)
    first, second = subjects[0], subjects[-1]
    # A saved capture has only one target, so without `--target` it also decides that of a function on the other side.
    captured = [name if name != "unknown" else "" for name in map(_find_target, (first, second))]
    target = options.target or captured[0] or captured[1]
    more = tuple(word for change in options.changed for word in _read_change(change))
    if len(subjects) == _TWO:
        names = [" ".join(first), " ".join(second)]
    elif options.rev:
        names = [options.rev[0], options.rev[1] if len(options.rev) == _REVISIONS else NOW]
    else:
        names = ["", ""]
    if options.against_target:
        names = [f"{names[0]} {target or 'cpu'}".strip(), f"{names[1]} {options.against_target}".strip()]
    if options.changed:
        names = [names[0] or "unchanged", f"{names[1]} with {' '.join(options.changed)}".strip()]
    # The empty strings select the current files if there are fewer than two `--rev` options.
    revisions_of = [*options.rev, "", ""]
    return (
        Side(names[0], first, target, (), revisions_of[0]),
        Side(
            names[1], second, options.against_target or options.target or captured[1] or target, more, revisions_of[1]
        ),
    )


def split_subjects(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the subjects of a command line. A script with its arguments is always the last subject."""
    at = words.index("run") if "run" in words else len(words)
    return [*((word,) for word in words[:at]), *([tuple(words[at:])] if at < len(words) else [])]


def _find_target(words: Sequence[str]) -> str:
    """Return the target of a saved capture or a dump, or an empty string for any other subject."""
    return next(iter(_read(words)), "") if _is_captured(words[0]) else ""


def _is_captured(word: str) -> bool:
    """Return whether a subject is a saved capture or a dump, which needs no compilation."""
    return is_saved(word) or is_dump(word)


def _read(words: Sequence[str]) -> dict[str, Capture]:
    """Return the capture of a subject that needs no compilation, by its target."""
    request = Request(tuple(words))
    return (read_saved(request) if is_saved(words[0]) else read_dump(request)).saved


def _read_change(text: str) -> tuple[str, ...]:
    """Return the value of a `--with` option as words of a command line."""
    # XLA's own flags begin with `--xla_`; all other options are those of this command.
    if text.startswith("--") and not text.startswith("--xla_"):
        return tuple(shlex.split(text))
    if not _OPTION.fullmatch(text):
        message = (
            f"--with {text}: not an option; pass an option of XLA with its value, as in "
            "--with xla_gpu_enable_triton_gemm=false, or an option of this command, as in --with=--donate=0; "
            "to compare with a second SUBJECT, pass it without --with"
        )
        raise InspectError(message)
    return ("--xla", text)


def _compile(side: Side, options: argparse.Namespace, folder: Path) -> Capture | int:
    """Return the capture of a side, read from a saved one or compiled in a child process, or its status if it fails."""
    words, working = side.words, None
    paths: tuple[str, ...] = ()
    if _is_captured(words[0]):
        if side.revision or side.more:
            message = f"{words[0]} is a saved result, which cannot be compiled again; pass the function instead"
            raise InspectError(message)
        # A saved capture and a module of a dump have exactly one target.
        (capture,) = _read(words).values()
        if side.target and capture.target.partition(":")[0] not in {side.target.partition(":")[0], "unknown"}:
            message = f"{words[0]} is a capture for {capture.target}, not for {side.target}"
            raise InspectError(message)
        return capture
    if side.revision:
        words, working, paths = revisions.check_out(words, side.revision, folder)
    # Each side runs in its own process, so that two versions of a module do not share Python's import cache.
    file = folder / "side.xla.json"
    target = ("--target", side.target) if side.target else ()
    line = ["show", "--stage", "capture", "-o", str(file), *_repeat(side, options), *target, *side.more, *words]
    child_options = argparse.Namespace(
        subject=[*words], target=side.target, load_limit=options.load_limit, debug=options.debug
    )
    status = child_process.run_apart(line, child_options, folder=working, paths=paths)
    # A program that the compiler rejects is saved too, with a non-zero status, so the file decides.
    if not file.is_file():
        print_note(f"no comparison, because {side.name} failed")
        return status or command_list.BAD_INPUT
    (capture,) = read_saved(Request((str(file),))).saved.values()
    return capture


def _repeat(side: Side, options: argparse.Namespace) -> list[str]:
    """Return the options of the command line that apply to a side, as words of a command line."""
    words = [f"--{name}" for name, isset in (("debug", options.debug), ("passes", options.numbers)) if isset]
    own = [f"--load-limit={options.load_limit}", *words]
    # A size in `--with` replaces the shared size of the same dimension.
    replaced = {word.removeprefix("--dim=").partition("=")[0] for word in side.more}
    settings: dict[str, object] = {
        "dim": [text for text in split_list(options.dim) if text.partition("=")[0] not in replaced]
    }
    kinds = [_is_stablehlo(words) for words in split_subjects(options.subject)]
    # If both sides are of one kind, an option that does not apply to it is an error.
    if len({*kinds}) > 1:
        settings = settings | _OF_FUNCTION if _is_stablehlo(side.words) else {"dim": []}
    return [*own, *list_call_options(argparse.Namespace(**{**vars(options), **settings}))]


def _is_stablehlo(words: Sequence[str]) -> bool:
    """Return whether a subject is a file with StableHLO."""
    return words[0] != "run" and stablehlo.find_file(words[0]) is not None
