"""The command `xla-inspect read`, which lists the modules of a dump, or the contents and gaps of one module."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from xla_inspect import stablehlo
from xla_inspect.commands import question
from xla_inspect.dumps import pick_module
from xla_inspect.errors import InspectError
from xla_inspect.questions.read import ProgramTable, describe_dump, list_dump
from xla_inspect.subject import open_dump, read_module

if TYPE_CHECKING:
    import argparse


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print a dump's modules, the contents of one of them, or the programs in StableHLO files, and return the status.

    Raises:
        InspectError: The dump cannot be read or has no module with the name, or the output file already exists.
    """
    if programs := list_programs(options.dump):
        question.print_answers([programs], options.dump, options, out)
        return 0
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


def list_programs(subject: str) -> ProgramTable | None:
    """Return the table of the programs in a file, folder or archive of StableHLO, or None for another subject.

    Raises:
        InspectError: The only program cannot be compiled.
    """
    files = {f"{subject}:{name}" if name else subject: file for name, file in stablehlo.list_files(subject).items()}
    if not files and (file := stablehlo.find_file(subject)):
        files = {subject: file}
    table = ProgramTable(subject)
    for name, file in files.items():
        functions = stablehlo.list_functions(file)
        for function in functions:
            title = f"{name}:{function}" if len(functions) > 1 else name
            try:
                table.programs[title] = stablehlo.read_module(replace(file, function=function)).describe()
            except InspectError as error:
                if len(files) == len(functions) == 1:
                    raise
                table.problems[title] = str(error)
    with suppress(InspectError):
        modules = open_dump(subject)[1] if stablehlo.has_programs(subject) else ()
        table = replace(table, modules=tuple(f"{subject}:{module.key}" for module in modules))
    return table if files else None
