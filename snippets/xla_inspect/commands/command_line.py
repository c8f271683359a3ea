"""The command line of `xla-inspect`: its parsers, its default command, and the run of a subcommand."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import re
import sys
import textwrap
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from xla_inspect.commands.command_list import APART, BAD_INPUT, EXITS, GROUPS, MISSING, list_questions
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.questions import QUESTIONS, load_part
from xla_inspect.spelling import list_nearest, suggest_name
from xla_inspect.terminal import PIPE_CLOSED, print_note, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: xla-inspect COMMAND SUBJECT [options]
       xla-inspect COMMAND --help
"""
_OUTPUTS = ("html", "issue", "output", "reproducer")
"""The options for output files."""
EXAMPLES = """\
examples:
  xla-inspect model.py:step                        compare CPU, GPU and TPU
  xla-inspect memory model.py:step --target h100   memory by line, and whether it fits
  xla-inspect recompiles run train.py --steps 3    a script's compilations and their causes
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `xla-inspect` with the given words, by default those of this process, and return its exit status.

    Commands that run the user's code run it in a separate process, see `child_process`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # An answer may contain file names with characters that the stream's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        words = complete(sys.argv[1:] if arguments is None else arguments)
    except InspectError as error:
        print_note(str(error))
        return BAD_INPUT
    options = parse(words)
    if after := _list_own_options(options):
        print_note(f"{', '.join(after)}: passed to the script; put options of xla-inspect before `run`")
    if not getattr(options, "subject", None) or options.command in APART or _is_dump(options.subject[0]):
        return run_here(words)
    from xla_inspect.commands import child_process

    return child_process.run_apart(words, options)


def _is_dump(word: str) -> bool:
    """Return whether a subject is a dump, which runs none of the user's code."""
    # This test comes first because it needs no import, and most subjects are files of Python.
    if word == "run" or word.rpartition(":")[0].endswith(".py"):
        return False
    from xla_inspect.dumps import split_dump

    return split_dump(word) is not None


def complete(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with `summary` in front if there is no command; `--help` if it is empty.

    `help NAME` becomes `NAME --help`.

    Raises:
        InspectError: The first word is neither a command nor a possible subject.
    """
    if not words:
        return ["--help"]
    first, *others = words
    if first == "help":
        return [*others[:1], "--help"]
    if first in {*list_questions(), "-h", "--help", "--version"}:
        return [*words]
    # A word with a dot, a colon or a slash is a subject, and the default command applies to it.
    if first.startswith("-") or first == "run" or re.search(r"[.:/\\]", first) or Path(first).exists():
        return ["summary", *words]
    commands = [*list_questions(), "help"]
    if near := list_nearest(first, commands, likeness=0.7) or [name for name in commands if name.startswith(first)]:
        message = f"there is no command {first!r}; did you mean {near[0]!r}?"
    else:
        message = f"{first!r} is neither a command nor a file or folder; the commands are {', '.join(list_questions())}"
    raise InspectError(message)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed options of a command line; `subject` may end with `run`, a script and its own arguments.

    Raises:
        SystemExit: The words are invalid, or ask for the help or the version.
    """
    # argparse would read the options of a script as options of the command, so the script's words are added afterwards.
    at = words.index("run", 1) if "run" in words[1:] else len(words)
    parser, subparser = build_parser(words[0] if words else "")
    # `parse_args` would reject positional words that follow an option.
    options, others = parser.parse_known_args([*words[:at], *words[at : at + 1]])
    if others and (any(word.startswith("-") for word in others) or not hasattr(options, "subject")):
        subparser.refuse(others)
    if others:
        # Parts of the subject may also follow options.
        options.subject = [*options.subject, *others]
    if at < len(words):
        # The last word that argparse read is `run` itself, which `words[at:]` contains too.
        options.subject = [*options.subject[:-1], *words[at:]]
    return options


def _list_own_options(options: argparse.Namespace) -> list[str]:
    """Return the arguments of a script that look like options of the command."""
    words = getattr(options, "subject", None) or []
    if words[:1] != ["run"]:
        return []
    names = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    return sorted(name for name in names if hasattr(options, name.removeprefix("--").replace("-", "_")))


def run_here(arguments: Sequence[str], out: TextIO | None = None) -> int:
    """Run a command in this process, print any error, and return the exit status.

    Args:
        arguments: The words of the command line, with the subcommand.
        out: The output for the answer, by default standard output. It does not include output of the user's code.
    """
    options = parse(arguments)
    out = out or sys.stdout
    # A compilation takes seconds, so a line on standard error announces it.
    logging.basicConfig(format="%(message)s ...")
    logging.getLogger("xla_inspect").setLevel(logging.INFO)
    file = name_file(options)
    try:
        # The user's code may print, but standard output contains only the answer.
        with contextlib.redirect_stdout(sys.stderr) if file else contextlib.nullcontext():
            return _run(options, out)
    except InspectError as error:
        if getattr(options, "debug", False):
            traceback.print_exception(error)
        print_note(_clean(str(error)))
        return MISSING if isinstance(error, TargetUnavailableError) else BAD_INPUT
    except KeyboardInterrupt:
        print_note("interrupted")
        # Shells report a program that an interrupt ended as 128 plus the number of the signal.
        return 130
    except BaseException as error:  # noqa: BLE001 - the user's code may raise anything, and all of it is reported
        if isinstance(error, BrokenPipeError) and out is sys.stdout:
            # The reader of the pipe closed it, and flushing the stream at exit would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        from xla_inspect.commands import user_code

        # Without a file of the user, the error is one of this package, so its traceback is useful.
        if getattr(options, "debug", not file):
            traceback.print_exception(error)
        print_note(user_code.explain_user_error(error, file or options.command))
        return user_code.find_status(error)


def name_file(options: argparse.Namespace) -> str:
    """Return the file or module that a command runs, as it was typed, or an empty string if it runs none."""
    if not getattr(options, "subject", None):
        return ""
    from xla_inspect.subject import Request

    return Request(tuple(options.subject)).file


class Parser(argparse.ArgumentParser):
    """A parser whose errors begin with the problem and suggest the nearest option."""

    def error(self, message: str) -> NoReturn:
        """Print the problem and the usage to standard error, and exit with status 2 for bad input."""
        # argparse passes only the finished message, so the word and the choices are read from its text.
        if match := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            choices = [choice.strip("' ") for choice in match[2].split(",")]
            message = f"{message.partition(':')[0]}: there is no {match[1]!r}; {suggest_name(match[1], choices)}"
        sys.stderr.write(f"{self.prog}: {_clean(message)}\n{self.format_usage().rstrip()}\n")
        sys.exit(BAD_INPUT)

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Print the first unknown word and the nearest option, and exit with status 2 for bad input."""
        name = next((word for word in words if word.startswith("-")), words[0]).partition("=")[0]
        # A reader may know what an option takes, such as SHAPES, but not its name.
        options = {
            text.lstrip("-").lower(): max(action.option_strings, key=len)
            for action in self._actions
            for text in (*action.option_strings, str(action.metavar or ""))
            if action.option_strings and len(text) > 2  # noqa: PLR2004 - longer than a short option
        }
        near = list_nearest(name.lstrip("-"), options, likeness=0.7)
        hint = f"; did you mean {options[near[0]]!r}?" if near else ""
        self.error(f"there is no {'option' if name.startswith('-') else 'argument'} {name!r}{hint}")


class _FirstScreen(Parser):
    """The parser of the whole command, whose help lists subcommands in groups."""

    def format_help(self) -> str:
        """Return the usage, a description, three examples, the subcommands in groups, and the exit statuses."""
        commands = list_questions()
        lines = [USAGE, f"{self.description}\n", EXAMPLES]
        for title, names in GROUPS.items():
            rows = [textwrap.fill(f"  {name:<12} {commands[name]}", 79, subsequent_indent=" " * 15) for name in names]
            lines += [f"{title}:", *rows, ""]
        return "\n".join([*lines, EXITS, ""])

    def format_usage(self) -> str:
        """Return the usage of the command."""
        return USAGE


def build_parser(chosen: str = "") -> tuple[argparse.ArgumentParser, Parser]:
    """Return the parser of the command line, and that of the chosen subcommand.

    Args:
        chosen: The subcommand. Only its module is imported. If there is none, both results are the whole parser.
    """
    parser = _FirstScreen(
        prog="xla-inspect",
        description="Compile your JAX program for CPU, GPU or TPU without having one, and answer\nquestions "
        "about the result. The default command is summary.",
    )
    # Looking up the installed versions takes time, so it happens only if they are printed.
    parser.add_argument("--version", action="version", version=_version() if chosen == "--version" else "")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    if chosen not in list_questions():
        return parser, parser
    text = list_questions()[chosen]
    subparser: Parser = commands.add_parser(chosen, description=f"{text[0].upper()}{text[1:]}.", epilog=EXITS)
    if chosen in QUESTIONS:
        from xla_inspect.commands import question

        question.add_arguments(subparser)
        question.add_forms(subparser)
        add_arguments = getattr(load_part(chosen, "options"), "add_arguments", None)
    else:
        from xla_inspect.commands.command_arguments import ARGUMENTS

        add_arguments = ARGUMENTS.get(chosen)
    if add_arguments:
        add_arguments(subparser)
    return parser, subparser


def _run(options: argparse.Namespace, out: TextIO) -> int:
    if outputs := [path for name in _OUTPUTS if (path := getattr(options, name, None))]:
        from xla_inspect.output_file import check_output

        # An existing file is reported before a compilation that may take minutes.
        for path in outputs:
            check_output(path, force=options.force)
    if options.command in QUESTIONS:
        from xla_inspect.commands import question

        return question.run_command(options, out)
    from xla_inspect.commands.command_modules import load_command

    status: int = load_command(options.command).run_command(options, out)
    return status


def _version() -> str:
    from xla_inspect.targets import find_version

    return f"xla-inspect {find_version('xla-inspect')}, jax {find_version('jax')}"


def _clean(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
