"""The command for phase 3 of the practice: a dump's files, HLO before and after optimization, and the jaxpr."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_fusions, list_kernels, print_computation
from xla_inspect.dumps import strip_front
from xla_inspect.errors import InspectError
from xla_inspect.installation import run_line
from xla_inspect.plural import plural
from xla_inspect.practice import (
    NO,
    PHASES,
    YES,
    Forecast,
    command,
    compile_for,
    dump,
    dump_folder,
    flags,
    require,
    start_jax,
    tables,
)
from xla_inspect.report import format_bytes
from xla_inspect.targets import title

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.practice import Paper
    from xla_inspect.targets import Target

PHASE = PHASES["hlo"]

DESCRIPTION = """\
Phase 3 of 5, 25 minutes: HLO, as the compiler dumps it.

Shows the files in a dump folder, the program before and after optimization, its fusions, layouts and constants, and
the jaxpr next to its HLO. With --to, it saves every file in a folder of yours and describes the files."""

FEW = 3
"""The number of files of one kind that are listed by name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that prints phase 3, and return its exit status."""
    parser = command.build_parser("hlo_dump", DESCRIPTION)
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="write every dump into this folder, which is created if it is missing"
    )
    return command.show_and_exit(parser, show, arguments)


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print phase 3, and return the exit status."""
    command.open_phase(paper, PHASE)
    require(options.target)
    folder = getattr(options, "to", None)
    if folder is not None:
        make_folder(folder)
    start_jax()
    from xla_inspect.practice import models

    capture = compile_for(options.target, models.classify, models.PARAMS, models.X)
    show_files(paper, options.target, folder)
    forecast = Forecast(paper, PHASE, options.target)
    show_text(paper, capture, forecast)
    show_fusions(paper, capture)
    show_layouts(paper, capture)
    show_constants(paper, capture, forecast)
    show_beside(paper, capture)
    forecast.close()
    command.close_phase(paper, PHASE)
    return command.DONE


def make_folder(folder: Path) -> None:
    """Create a folder for dumps, and check that it can be written.

    Raises:
        InspectError: The folder cannot be created or written, or contains the dumps of another compilation.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Only an attempt shows whether the folder is writable, since permissions are not the only obstacle.
        with tempfile.TemporaryFile(dir=folder):
            pass
        old = any(folder.glob("module_*"))
    except OSError as error:
        message = f"--to {folder}: cannot write there ({error.strerror}); pass another folder"
        raise InspectError(message) from error
    if old:
        message = f"--to {folder}: the folder already contains dumps; pass an empty folder"
        raise InspectError(message)


def show_files(paper: Paper, target: Target, folder: Path | None) -> None:
    """Dump a program into the user's folder, or a temporary one if it is None, and print a list of the files.

    If XLA_FLAGS name a dump folder, the files in it are listed too.
    """
    from xla_inspect.practice import models

    paper.heading(f"3.1 The dump, {title(target.name)}")
    paper.show(inspect.getsource(models.classify), "python")
    with tempfile.TemporaryDirectory(prefix="xla_inspect_") as temporary:
        into = folder or Path(temporary)
        # The user's folder may contain other files, which must not be counted as part of the dump.
        before = {*into.iterdir()}
        dump(target, into, models.classify, models.PARAMS, models.X)
        files = [file for file in dump_folder.list_dump_files(into) if file.path not in before]
    size = format_bytes(sum(file.bytes for file in files))
    paper.say(f"Compiling this function writes {len(files)} files with {size}:")
    _show_groups(paper, files, whole=folder is not None)
    if folder is not None:
        paper.say(f"The files are in {folder}. Open the first two, then the passes in the order of their numbers.")
    else:
        paper.say("To save the files and list all of their names, run:")
        paper.show(run_line(f"python -m xla_inspect.hlo_dump --target {target.name} --to dump"))
    own_folder = flags.dump_folder()
    if own_folder and Path(own_folder).is_dir():
        files = dump_folder.list_dump_files(Path(own_folder))
        paper.say(
            f"Your XLA_FLAGS contain --xla_dump_to={own_folder}, so JAX's own compilations in this process are dumped "
            f"there, as XLA_FLAGS request. {len(files)} files are in {own_folder} now:"
        )
        _show_groups(paper, files, whole=True)


def _show_groups(paper: Paper, files: list[dump_folder.DumpFile], *, whole: bool) -> None:
    """Print a table of the files of each group that has any."""
    for group, heading in dump_folder.GROUPS.items():
        members = [file for file in files if file.group == group]
        if members:
            _show_group(paper, heading, members, whole=whole)


def _show_group(paper: Paper, heading: str, files: list[dump_folder.DumpFile], *, whole: bool) -> None:
    """Print the files of a group: a description of each kind, and a few names, in full or without the common start."""
    rows: list[tuple[str, str, str]] = []
    for sort, number in Counter(file.sort for file in files).items():
        same = [file for file in files if file.sort == sort]
        # The start of a pipeline changes nothing, so a pass is a better example.
        passes = [file for file in same if "pipeline-start" not in file.path.name] or same
        examples = same if number <= FEW else passes[:1]
        for at, file in enumerate(examples):
            repeated = at > 0 and file.said == sort
            name = file.path.name if whole else strip_front(file.path.name)
            rows.append((name, format_bytes(file.bytes), "(same)" if repeated else file.said))
        if len(examples) < number:
            rows.append(
                (
                    f"and {number - len(examples)} more",
                    format_bytes(sum(file.bytes for file in same) - sum(file.bytes for file in examples)),
                    sort,
                )
            )
    paper.table((heading, "size", "contents"), rows, numbers=(1,))


def show_text(paper: Paper, capture: Capture, forecast: Forecast) -> None:
    """Print the module before optimization and ENTRY after it, and ask for the number of kernels."""
    before, after = capture.unoptimized_module, capture.module
    paper.heading("3.2 Read it: before")
    paper.say(
        "A module is a list of computations, and the program starts at ENTRY. Each line has the form: name = "
        "shape{layout} opcode(operands), attributes. Metadata and configuration are omitted here; the files have them."
    )
    for computation in before.computations:
        paper.show(print_computation(computation), "hlo")
    paper.heading("3.3 Read it: after")
    paper.say(
        f"The module had {before.instruction_count()} instructions. After {len(capture.runs)} runs of passes, it has "
        f"{after.instruction_count()}, {after.instruction_count(entry_only=True)} of them in ENTRY. The others are in "
        "computations that ENTRY calls."
    )
    guess = forecast.commit(f"How many of these {after.instruction_count(entry_only=True)} lines are kernels?")
    paper.show(print_computation(after.entry), "hlo")
    forecast.reveal(
        guess,
        len(list_kernels(capture)),
        "each kernel is a fusion, a matmul, a copy or a library call; parameters, constants, tuples and "
        "bitcasts are not kernels.",
        "kernels",
    )


def show_fusions(paper: Paper, capture: Capture) -> None:
    """Print a table of all kernels, and the computation of the largest fusion."""
    module = capture.module
    fusions = list_fusions(module)
    paper.heading("3.4 Find the fusions")
    paper.say(
        "A fusion is one kernel that computes several operations. Its line in ENTRY has `kind=` and `calls=`; the "
        "called computation contains the fused operations."
    )
    paper.table(("kernel", "kind", "contents"), tables.describe_kernels(capture))
    if not fusions:
        paper.say("This program has no fusions.")
        return
    largest = max(fusions, key=lambda fusion: len(fusion.opcodes))
    paper.say(f"The largest fusion is {largest.name}:")
    paper.show(print_computation(module.computation(largest.called)), "hlo")


def show_layouts(paper: Paper, capture: Capture) -> None:
    """Print the shape and the layout of each array in ENTRY, and the number of times that each layout occurs."""
    paper.heading("3.5 Find the layouts")
    rows = tables.list_layouts(capture)
    paper.say(
        "The braces after a shape contain its layout: the dimensions in order, from the one whose neighbors are "
        "adjacent in memory to the one whose neighbors are farthest apart. `{1,0}` is row-major. `T(8,128)` splits an "
        "array into tiles, as a TPU reads it, and `S(1)` places it in on-chip memory."
    )
    paper.table(("instruction", "shape", "layout"), rows)
    counts = Counter(layout for _, _, layout in rows)
    totals = ", ".join(f"{count} x {layout}" for layout, count in counts.most_common())
    paper.say(f"Number of each layout: {totals}.")


def show_constants(paper: Paper, capture: Capture, forecast: Forecast) -> None:
    """Print the constants before and after optimization, each with its shape and computation, and ask for a prediction.

    The question is whether the kernel will divide.
    """
    paper.heading("3.6 Find the constants")
    before, after = capture.unoptimized_module, capture.module
    guess = forecast.commit("The program divides by 127.5. Will the kernel divide?", (YES, NO))
    paper.table(("before", "shape", "computation"), tables.list_constants(before))
    paper.table(("after", "shape", "computation"), tables.list_constants(after))
    counts = before.opcode_counts(), after.opcode_counts()
    forecast.reveal(
        guess,
        YES if counts[1]["divide"] else NO,
        f"{plural(counts[0]['divide'], 'division')} before, and {counts[1]['divide']} after. "
        + (
            "The compiler replaced the division by a constant with a multiplication by its reciprocal."
            if counts[1]["divide"] < counts[0]["divide"]
            else "This compiler keeps the division."
        ),
        "divides",
    )
    paper.say("The compiler moved constants into the fusions that use them, where they cause no memory traffic.")


def show_beside(paper: Paper, capture: Capture) -> None:
    """Print each equation of the jaxpr next to its HLO instructions before and after optimization."""
    from xla_inspect.practice import Equations, jaxpr_to_hlo, models

    equations = Equations(models.classify, models.PARAMS, models.X)
    equations.name_inputs("params", "pixels")
    paper.heading("3.7 The jaxpr next to its HLO")
    paper.say(
        "The table shows each equation, in the notation of phase 2, with its HLO instructions. The match is possible "
        "because JAX records the primitive and the line of Python in the instructions of an equation, and the "
        "compiler preserves them if it can."
    )
    paper.table(("equation", "HLO before", "HLO after, and its kernel"), jaxpr_to_hlo.rows(capture, equations))
    rows = jaxpr_to_hlo.set_beside(capture, equations)
    several = max(rows[:-1], key=lambda row: len(row.before))
    paper.say(
        f"{len(equations)} equations became {sum(len(row.before) for row in rows[:-1])} instructions; "
        f"{len(rows[-1].before)} more represent inputs and numbers. A jaxpr may combine different shapes by "
        f"broadcasting one of them, which HLO writes out: `{several.equation}` alone has {len(several.before)}."
    )
    paper.table(
        ("", "jaxpr", "HLO before", "HLO after"), jaxpr_to_hlo.count_by_stage(capture, equations), numbers=(1, 2, 3)
    )
    paper.say("A jaxpr defines the computation. The compiler chooses layouts and kernels, so only HLO has them.")


if __name__ == "__main__":
    sys.exit(main())
