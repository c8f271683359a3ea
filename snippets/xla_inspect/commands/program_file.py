"""The reader's file that a command runs: the function that it holds, and what is said where it goes wrong."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.commands import child_process
from xla_inspect.compilation import find_function
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_arguments(parser: argparse.ArgumentParser, example: str) -> None:
    """Add the arguments of each command that runs a file.

    Args:
        parser: The parser of the subcommand.
        example: What its help says of the file.
    """
    parser.add_argument("--traceback", action="store_true", help="show the whole of it where the file raises an error")
    parser.add_argument("function", metavar="FILE.py:FUNCTION", help=example)


def name(options: argparse.Namespace) -> str:
    """Return the file that a command runs, as the reader named it, or an empty string where it runs none."""
    return str(getattr(options, "function", "")).rpartition(":")[0]


def load_function(named: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function that `FILE.py:FUNCTION` names, and the arguments that the file gives as EXAMPLE.

    Raises:
        InspectError: The file, the function or EXAMPLE is missing.
    """
    file, colon, name = named.rpartition(":")
    if not colon or not file.endswith(".py"):
        message = f"write FILE.py:FUNCTION, not {named!r}"
        raise InspectError(message)
    member = find_function(load_file(Path(file)), name, file)
    return member.function, member.example


def load_file(path: Path) -> Any:  # noqa: ANN401 - a module of the reader's
    """Return the module that a file defines, with the file's folder on the path as when it is run.

    Raises:
        InspectError: There is no such file.
    """
    if not path.is_file():
        message = f"no file {path}"
        raise InspectError(message)
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path.absolute())
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise InspectError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def explain(error: BaseException, file: str) -> str:
    """Return what the reader's file raised, where, and in a second line what to do.

    Args:
        error: What it raised.
        file: The file, as the reader named it.
    """
    line = find_line(error, str(Path(file).absolute()))
    where = f"{file}:{line}" if line else file
    if isinstance(error, SystemExit):
        return f"{where}: sys.exit({error.code!r}) ends Python before the command is done\n{child_process.ENDED}"
    if isinstance(error, child_process.LeftError):
        return f"{where}: os._exit({error.args[0]!r}) ends Python before the command is done\n{child_process.ENDED}"
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().partition("\n")[0]
    return f"{where}: {type(error).__name__}: {text}\nmend that; with --traceback you see how Python came there"


def find_line(error: BaseException, file: str) -> int | None:
    """Return the innermost line of a file that an error, or what caused it, came through, or None."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    if lines:
        return lines[-1]
    cause = error.__cause__ or error.__context__
    return find_line(cause, file) if cause else None
