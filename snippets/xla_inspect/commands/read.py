"""The command `xla-inspect read`, which lists the modules of a dump, or the contents and gaps of one module."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from xla_inspect.commands import question
from xla_inspect.dumps import pick_module
from xla_inspect.questions.read import describe_dump, list_dump
from xla_inspect.subject import open_dump, read_module

if TYPE_CHECKING:
    import argparse


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
