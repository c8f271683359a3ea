"""The command `xla-inspect read`, which lists the modules of a dump, or the contents and gaps of one module."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.commands import question
from xla_inspect.dumps import pick_module
from xla_inspect.questions.read import describe_dump, list_dump
from xla_inspect.subject import open_dump, read_module

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the dump, and for the form of the answer."""
    parser.add_argument(
        "dump",
        metavar="DUMP[:MODULE]",
        help="a folder written with --xla_dump_to, a .zip or .tar.gz of it, or a file with HLO text or an HloProto",
    )
    parser.add_argument("--all", action="store_true", help="show all modules, not only the largest")
    parser.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the answer as JSON")
    group.add_argument("--html", metavar="FILE", type=Path, help="also write the answer as a page")
    group.add_argument("--force", action="store_true", help="overwrite existing files")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print the modules of a dump, or the contents of one of them, and return the exit status.

    Raises:
        InspectError: The dump cannot be read or has no module with the name, or the output file already exists.
    """
    files, modules, path, name = open_dump(options.dump)
    left_out = files.left_out
    if name:
        module = pick_module(modules, name, path)
        contents = describe_dump(module, read_module(files, module), left_out, shlex.quote(options.dump))
        question.print_answers([contents], files.title, options, out)
    else:
        table = list_dump(files.title, modules, left_out, shlex.quote(path))
        question.print_answers([replace(table, rows=len(modules)) if options.all else table], files.title, options, out)
    return 0
