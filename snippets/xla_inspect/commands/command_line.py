"""What `xla-inspect` was asked for: the subcommands, their arguments, and how each ends."""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from typing import TYPE_CHECKING, Any

from xla_inspect.commands import child_process, program_file, report, show, targets
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUBCOMMANDS: Mapping[str, Any] = {"targets": targets, "show": show, "report": report}
"""The module of each subcommand: `HELP`, `add_arguments(parser)`, and `run(options)`, which returns what to print."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0; 1 after an error; 2 for usage, and for what the file itself does.

    What runs the reader's file does so in a process of its own, see `child_process`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = build_parser().parse_args(words)
    return child_process.run(words, program_file.name(options)) if program_file.name(options) else run_here(words)


def run_here(arguments: Sequence[str]) -> int:
    """Run a command in this process, and return its exit status."""
    options = build_parser().parse_args(arguments)
    # Each compile, which takes seconds, is named while it lasts.
    logging.basicConfig(format="%(message)s ...")
    logging.getLogger("xla_inspect").setLevel(logging.INFO)
    try:
        print(SUBCOMMANDS[options.command].run(options))  # noqa: T201 - a command prints
    except InspectError as error:
        print(f"xla-inspect: {error}", file=sys.stderr)  # noqa: T201 - a command prints
        return 1
    except KeyboardInterrupt:
        return 1
    except BaseException as error:
        file = program_file.name(options)
        if not file:
            raise
        # Whatever the file does, the reader is told.
        if options.traceback:
            traceback.print_exception(error)
        print(f"xla-inspect: {program_file.explain(error, file)}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="xla-inspect", description="Compile a JAX function for CPU, NVIDIA GPU or TPU, and show every stage."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in SUBCOMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=module.HELP))
    return parser
