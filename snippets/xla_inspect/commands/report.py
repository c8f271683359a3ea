"""`xla-inspect report`: one HTML file in which to step through the passes of a function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import capture_all
from xla_inspect.commands import program_file
from xla_inspect.compilation import USUAL, explain_no_assembly
from xla_inspect.errors import InspectError
from xla_inspect.targets import find

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from xla_inspect.captured import Captures

HELP = "write one HTML file in which to step through the passes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the function, the targets, and where to write."""
    program_file.add_arguments(parser, "as for `show`")
    parser.add_argument("--target", action="append", help="may repeat (default: cpu, h100 and tpu-v5e)")
    parser.add_argument(
        "--donate",
        action="append",
        type=int,
        metavar="N",
        help="also plan the memory with the N-th argument (from 0) donated, as a switch in the file; may repeat",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="default: FUNCTION.html")


def run(options: argparse.Namespace) -> str:
    """Write the explorer of a function that a file holds, and return what was written and what is missing from it.

    Raises:
        InspectError: As for `show`; or no target could be compiled for, or the file cannot be written.
    """
    from xla_inspect.report.explorer import write_report

    function, example = program_file.load_function(options.function)
    targets = tuple(dict.fromkeys(options.target or USUAL))
    for target in targets:
        find(target)
    captures = capture_all(function, *example, targets=targets, refusals=True)
    missing = [f"{target} is left out: {reason}" for target, reason in captures.missing.items()]
    if not captures:
        # Where the function itself is at fault, this raises what it raised.
        capture_all(function, *example, targets=targets)
        raise InspectError("\n".join(missing))
    if reason := explain_no_assembly():
        missing += [f"{name} has no assembly: {reason}" for name in captures if find(name).kind == "cpu"]
    donated = capture_donated(function, example, tuple(captures), options.donate) if options.donate else None
    path = options.output or Path(f"{next(iter(captures.values())).program}.html")
    try:
        path.write_text(write_report(captures, donated), encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise InspectError(message) from error
    return "\n".join((*missing, f"{path}: {path.stat().st_size:,} bytes; open it in a browser"))


def capture_donated(
    function: Callable[..., Any], example: tuple[Any, ...], targets: tuple[str, ...], arguments: list[int]
) -> Captures:
    """Return the captures of a function with some of its arguments donated.

    Raises:
        InspectError: It has no such argument.
    """
    try:
        return capture_all(function, *example, targets=targets, donate_argnums=arguments)
    except ValueError as error:
        message = f"--donate {' --donate '.join(map(str, arguments))}: {error}"
        raise InspectError(message) from error
