"""`xla-inspect show`: one stage of a function, in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xla_inspect import TARGETS, capture
from xla_inspect.analysis import HOST_CALL, calls_host, list_launches
from xla_inspect.commands import program_file
from xla_inspect.compilation import explain_no_assembly
from xla_inspect.errors import InspectError
from xla_inspect.installation import install_line
from xla_inspect.targets import find, find_version

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture, Code

NVDISASM = "nvidia-cuda-nvdisasm"
"""What turns a GPU's machine code into SASS."""

HELP = "compile a function and print one stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the function, the target and the stage."""
    program_file.add_arguments(parser, "the file also defines EXAMPLE, its arguments")
    parser.add_argument("--target", default="cpu", help=f"one of {', '.join(TARGETS)} (default: %(default)s)")
    parser.add_argument("--stage", choices=STAGES, default="after", help="default: %(default)s")


def run(options: argparse.Namespace) -> str:
    """Return one stage of a function that a file holds.

    Raises:
        InspectError: The file, the function or EXAMPLE is missing; or the compiler gives up, and then the stage is
            printed as far as it came.
    """
    function, example = program_file.load_function(options.function)
    gap = explain_gap(options.target) if options.stage == "code" else ""
    try:
        compiled = capture(function, *example, target=options.target, sass=options.stage == "code" and not gap)
    except RuntimeError as error:
        left: Capture | None = getattr(error, "capture", None)
        if left is None:
            raise
        print(STAGES[options.stage](left))  # noqa: T201 - a command prints
        message = f"the compiler for {options.target} gives up, and what it left is above: {left.error}"
        raise InspectError(message) from error
    if gap:
        print(f"xla-inspect: {gap}", file=sys.stderr)  # noqa: T201 - a command prints
    return STAGES[options.stage](compiled)


def explain_gap(target: str) -> str:
    """Return what of a target's code cannot be disassembled here and what to do about it, or an empty string."""
    kind = find(target).kind
    if kind == "cpu" and (reason := explain_no_assembly()):
        return f"no assembly: {reason}"
    if kind == "gpu" and not find_version(NVDISASM):
        return f"no SASS: {NVDISASM} not installed; run `{install_line('asm')}`"
    return ""


def _list_passes(compiled: Capture) -> str:
    """Return a line per pass that changed the module."""
    changed = [
        f"{number:>3}  {change.pipeline}: {change.name}" for number, change in enumerate(compiled.passes, start=1)
    ]
    return "\n".join((f"{len(compiled.runs)} runs of passes; the module differs after these:", *changed))


def _list_kernels(compiled: Capture) -> str:
    """Return a line per launch: the kernels, and the collectives and copies among them, which are named so."""
    return "\n".join(map(_describe_launch, list_launches(compiled)))


def _describe_launch(launch: Launch) -> str:
    """Return a launch in one line."""
    thunk = launch.thunk
    size = ""
    if thunk and thunk.grid:
        size = f"  grid {thunk.grid}  threads {thunk.threads}  {thunk.shared_memory} B shared"
    times = {1: "", None: "  runs an unknown number of times"}.get(launch.runs, f"  runs {launch.runs} times")
    apart = "" if launch.role in {"kernel", launch.kind} else f"  {launch.role}"
    callback = f"  {HOST_CALL}" if calls_host(launch.instruction) else ""
    return f"{launch.name:<40} {launch.kind}{size}{apart}{times}{callback}"


def _print_code(compiled: Capture) -> str:
    """Return all generated code, each piece under a line that names it."""
    return "\n".join(map(_describe_code, compiled.code))


def _describe_code(code: Code) -> str:
    """Return a piece of code under a line that names it."""
    return f"==== {code.kernel} ({code.language})\n{code.text}"


STAGES: Mapping[str, Callable[[Capture], str]] = {
    "jaxpr": lambda compiled: compiled.jaxpr,
    "stablehlo": lambda compiled: compiled.stablehlo,
    "before": lambda compiled: compiled.before,
    "after": lambda compiled: compiled.after,
    "passes": _list_passes,
    "buffers": lambda compiled: compiled.buffers,
    "memory": lambda compiled: compiled.memory_report,
    "kernels": _list_kernels,
    "code": _print_code,
}
"""What it can print, by the name of its stage."""
