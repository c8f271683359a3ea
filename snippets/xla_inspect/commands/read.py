"""`xla-inspect read`: the modules of a dump, or what is there of one of them and what is missing."""

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
    """Add the dump, and the form of the answer."""
    parser.add_argument(
        "dump",
        metavar="DUMP[:MODULE]",
        help="a folder that --xla_dump_to names, a .zip or .tar.gz of one, or a file of HLO as text or HloProto",
    )
    parser.add_argument("--all", action="store_true", help="all modules, not the largest alone")
    parser.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
    how = parser.add_argument_group("its form")
    how.add_argument("--json", action="store_true", help="print it as JSON")
    how.add_argument("--html", metavar="FILE", type=Path, help="write it as a page too")
    how.add_argument("--force", action="store_true", help="overwrite a file that is there")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print the modules of a dump, and return the exit status.

    Raises:
        InspectError: It cannot be read, or holds no module; there is no such module, or the file of the page is there.
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
