"""The shared parts of the practice's commands: arguments, help, error handling, and exit status."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.installation import CHECKOUT, run_line
from xla_inspect.practice import device, flags
from xla_inspect.practice.marking.exercises import LEVELS, check_line, find_exercises, name_file
from xla_inspect.terminal import PIPE_CLOSED, WIDTH, Paper, open_paper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.practice.phases import Phase
    from xla_inspect.targets import Target

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""The exit statuses of a command; the last is the shell's status for a program that an interrupt ended."""

TEXTS = Path(__file__).parent / "texts"

_WITH_UV = re.compile(r"\buv run (?:--with \S+ )?")


def build_parser(module: str, description: str, *, target: bool = True) -> argparse.ArgumentParser:
    """Return an argument parser with the help text that all commands share.

    Args:
        module: The name of the command's module, such as `basics`.
        description: The description of the command, already wrapped into lines.
        target: Whether the command has an option for the target.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m xla_inspect.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=(
            "XLA_FLAGS in the environment is heeded; `python -m xla_inspect.main --help` says how each shell sets it,\n"
            "and how to repeat the phases on a GPU. NO_COLOR=1 prints without colour, and so does a pipe."
        ),
    )
    if target:
        # The type converts the default too, so the default is the name and not a target.
        parser.add_argument(
            "--target",
            type=find_target,
            default="cpu",
            metavar="TARGET",
            help=f"what to compile for: {', '.join(device.NAMES)} (default: %(default)s); "
            "only the last must be in this machine",
        )
    return parser


def find_target(name: str) -> Target:
    """Return a target by name, for use as an argparse type.

    Raises:
        argparse.ArgumentTypeError: There is no such target.
    """
    try:
        return device.find_device(name)
    except InspectError as error:
        message = f"{error}, {device.NAME}" if ":" not in name else str(error)
        raise argparse.ArgumentTypeError(message) from error


def show_and_exit(
    parser: argparse.ArgumentParser,
    show: Callable[[Paper, argparse.Namespace], int],
    arguments: Sequence[str] | None,
) -> int:
    """Parse the arguments, run a command, and return its exit status, even after an error.

    An `InspectError`, an `OSError` or an interrupt is printed on one line without a traceback; other errors are raised.

    Args:
        parser: The parser of the arguments.
        show: The function that prints the command's output and returns the exit status.
        arguments: The arguments, by default those of the command line.
    """
    for stream in (sys.stdout, sys.stderr):
        # A character that the console cannot show must not stop the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        options = parser.parse_args(arguments)
        status = show(open_paper(), options)
        sys.stdout.flush()
    except InspectError as error:
        complain(parser.prog, str(error))
        return FAILED
    except BrokenPipeError:
        # The reader of the pipe, such as `head`, has closed it, so the remaining output is discarded.
        _abandon_output()
        return PIPE_CLOSED
    except OSError as error:
        # The cause may be a full disk, but on Windows EINVAL means that the pipe was closed.
        with contextlib.suppress(OSError):
            complain(parser.prog, f"{error.filename or 'the output'}: {error.strerror or error}")
        _abandon_output()
        return FAILED
    except KeyboardInterrupt:
        # The reader pressed Ctrl-C on purpose, so a traceback would only be noise.
        complain(parser.prog, "interrupted")
        return INTERRUPTED
    except SystemExit as end:
        # argparse exits after `--help` and after wrong arguments.
        return end.code if isinstance(end.code, int) else USAGE
    return status


def complain(prog: str, message: str) -> None:
    """Print an error message on the standard error, after the name of the command."""
    # The output is flushed first, so that the error appears after it in a terminal.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.write(f"{prog.removeprefix('python -m ')}: {message}\n")


def _abandon_output() -> None:
    """Discard the output that is not written yet, so that Python does not try to write it at exit."""
    # Replacing the file descriptor also covers the flush that Python performs at exit.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_phase(paper: Paper, phase: Phase) -> None:
    """Print the title of a phase, its duration, the question that it answers, and the reader's XLA flags, if any."""
    paper.title(f"Phase {phase.number} of 5: {phase.title} ({phase.minutes} minutes)")
    paper.say(phase.question)
    if answer := flags.given():
        listed = " ".join(f"--{name}={value}" if value else f"--{name}" for name, value in answer.items())
        paper.say(f"Compiled with your {flags.VARIABLE}: {listed}")


def close_phase(paper: Paper, phase: Phase) -> None:
    """Print the exercises of a phase and the commands that mark them, or where to get the files; then print links."""
    paper.heading("Your turn")
    listed = find_exercises(phase.name)
    if all(exercise.file.is_file() for exercise in listed):
        paper.say(f"Each of these files says what to write, and where; its level is from 1 to {LEVELS}.")
        rows = [
            (name_file(exercise.file), exercise.minutes, exercise.level, exercise.title.rstrip("."))
            for exercise in listed
        ]
        paper.table(("file", "about min", "level", "what to do"), rows, numbers=(1, 2))
        paper.say("This marks them all, by what the compiler says, and one of them where it is named:")
        names = (phase.name, listed[0].key)
        paper.show(check_line(*names))
        paper.say("And this marks each time you save a file, and goes on with the next:")
        paper.show(run_line(f"python -m xla_inspect.main --watch {phase.name}"))
    else:
        paper.say("The exercises come with the project's repository: clone it, and run this there.")
    paper.links(phase.references)


def ask_reader(paper: Paper, question: str) -> str:
    """Print a question and return the reader's answer; without a reader at a terminal, only return an empty string."""
    if not (sys.stdin.isatty() and paper.stream.isatty()):
        return ""
    paper.stream.write(f"{question} ")
    paper.stream.flush()
    answer = sys.stdin.readline().strip()
    paper.stream.write("\n")
    return answer


def read_text(name: str) -> str:
    """Return a shared text of help and pages by file name, as Markdown; outside a checkout, without `uv run`."""
    text = (TEXTS / f"{name}.md").read_text(encoding="utf-8").strip()
    # An installed package has no project for `uv run`, so its commands are shown without it.
    return text if CHECKOUT else _WITH_UV.sub("", text)


def plain(markdown: str) -> str:
    """Return simple Markdown formatted for a terminal: listings indented, text wrapped, URLs after their link texts."""
    lines, inside = [], False
    for line in markdown.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            lines.append(f"    {line}".rstrip())
        else:
            text = re.sub(r"\[([^]]*)\]\(([^)]*)\)", r"\1 (\2)", re.sub(r"`([^`]*)`", r"\1", line))
            lines.append(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))
    return "\n".join(lines)
