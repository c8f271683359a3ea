"""The command `xla-inspect`: say which targets there are, and show what a compiler makes of a function."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import TARGETS, available, capture, capture_all
from xla_inspect.capture.capture import USUAL
from xla_inspect.errors import InspectError
from xla_inspect.report.explorer.page import write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xla_inspect.hlo.record import Capture, Captures, Code, Kernel


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 after an error that was asked for in vain, 2 for usage."""
    options = build_parser().parse_args(arguments)
    # Each compile, which takes seconds, is named while it lasts.
    logging.basicConfig(format="%(message)s ...")
    logging.getLogger("xla_inspect").setLevel(logging.INFO)
    try:
        print(COMMANDS[options.command](options))  # noqa: T201 - a command prints
    except InspectError as error:
        print(f"xla-inspect: {error}", file=sys.stderr)  # noqa: T201 - a command prints
        return 1
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="xla-inspect", description="Compile a JAX function for CPU, NVIDIA GPU or TPU, and show every stage."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("targets", help="list the targets, and why one is not available here")
    command = commands.add_parser("show", help="compile a function and print one stage")
    command.add_argument("function", metavar="FILE.py:FUNCTION", help="the file also defines EXAMPLE, its arguments")
    command.add_argument("--target", default="cpu", help=f"one of {', '.join(TARGETS)} (default: %(default)s)")
    command.add_argument("--stage", choices=STAGES, default="after", help="default: %(default)s")
    command = commands.add_parser("report", help="write one HTML file in which to step through the passes")
    command.add_argument("function", metavar="FILE.py:FUNCTION", help="as for `show`")
    command.add_argument("--target", action="append", help="may repeat (default: cpu, h100 and tpu-v5e)")
    command.add_argument(
        "--donate",
        action="append",
        type=int,
        metavar="N",
        help="also plan the memory with the N-th argument (from 0) donated, as a switch in the file; may repeat",
    )
    command.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="default: FUNCTION.html")
    return parser


def list_targets(_: argparse.Namespace | None = None) -> str:
    """Return a line per target: its name, and `available` or why it is not."""
    width = max(map(len, TARGETS))
    return "\n".join(f"{name:<{width}}  {reason or 'available'}" for name, reason in available().items())


def show(options: argparse.Namespace) -> str:
    """Return one stage of a function that a file holds.

    Raises:
        InspectError: The file, the function or EXAMPLE is missing, or the function does not compile.
    """
    function, example = load_function(options.function)
    found = capture(function, *example, target=options.target, sass=options.stage == "code")
    return STAGES[options.stage](found)


def report(options: argparse.Namespace) -> str:
    """Write the explorer of a function that a file holds, and return what was written and what is missing from it.

    Raises:
        InspectError: As for `show`; or no target could be compiled for, or the file cannot be written.
    """
    function, example = load_function(options.function)
    targets = tuple(dict.fromkeys(options.target or USUAL))
    found = capture_all(function, *example, targets=targets)
    missing = [f"{target} is left out: {reason}" for target, reason in found.missing.items()]
    if not found:
        raise InspectError("\n".join(missing))
    donated = capture_donated(function, example, targets, options.donate) if options.donate else None
    path = options.output or Path(f"{next(iter(found.values())).program}.html")
    try:
        path.write_text(write(found, donated), encoding="utf-8")
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


def load_function(named: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function that `FILE.py:FUNCTION` names, and the arguments that the file gives as EXAMPLE.

    Raises:
        InspectError: The file, the function or EXAMPLE is missing.
    """
    file, colon, name = named.rpartition(":")
    if not colon or not file.endswith(".py"):
        message = f"write FILE.py:FUNCTION, not {named!r}"
        raise InspectError(message)
    module = load_file(Path(file))
    function, example = getattr(module, name, None), getattr(module, "EXAMPLE", None)
    if not callable(function):
        names = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        message = f"{file} has no function {name!r}; it has {', '.join(names) or 'none'}"
        raise InspectError(message)
    if not isinstance(example, tuple):
        message = f"{file} does not say with which arguments: let EXAMPLE be a tuple of them, shapes are enough"
        raise InspectError(message)
    return function, example


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


def _list_passes(found: Capture) -> str:
    """Return a line per pass that changed the module."""
    changed = [f"{number:>3}  {each.pipeline}: {each.name}" for number, each in enumerate(found.passes, start=1)]
    return "\n".join((f"{len(found.runs)} runs of passes; the module differs after these:", *changed))


def _list_kernels(found: Capture) -> str:
    """Return a line per kernel."""
    return "\n".join(map(_describe_kernel, found.kernels))


def _describe_kernel(kernel: Kernel) -> str:
    """Return a kernel in one line."""
    size = f"  grid {kernel.grid}  threads {kernel.threads}  {kernel.shared_memory} B shared" if kernel.grid else ""
    return f"{kernel.name:<40} {kernel.fusion_kind or kernel.kind}{size}"


def _print_code(found: Capture) -> str:
    """Return all generated code, each piece under a line that names it."""
    return "\n".join(map(_describe_code, found.code))


def _describe_code(code: Code) -> str:
    """Return a piece of code under a line that names it."""
    return f"==== {code.kernel} ({code.language})\n{code.text}"


STAGES: Mapping[str, Callable[[Capture], str]] = {
    "jaxpr": lambda found: found.jaxpr,
    "stablehlo": lambda found: found.stablehlo,
    "before": lambda found: found.before,
    "after": lambda found: found.after,
    "passes": _list_passes,
    "buffers": lambda found: found.buffers,
    "kernels": _list_kernels,
    "code": _print_code,
}
"""What `show` can print, by the name of its stage."""

COMMANDS: Mapping[str, Callable[[argparse.Namespace], str]] = {"targets": list_targets, "show": show, "report": report}
"""What each command does."""

if __name__ == "__main__":
    sys.exit(main())
