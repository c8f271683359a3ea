"""Phase 3 of the practice: the compiler's dump, and the fusions, layouts and constants in it."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.hlo.fusions import list_fusions
from xla_inspect.practice import command, dumped, flags, tables
from xla_inspect.practice.compilation import compile_for, dump, require, start_jax
from xla_inspect.practice.phases import PHASES
from xla_inspect.report.listing import print_computation
from xla_inspect.report.quantity import size
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.capture.targets import Target
    from xla_inspect.hlo.record import Capture
    from xla_inspect.practice.terminal import Paper

PHASE = PHASES["hlo"]

DESCRIPTION = """\
Phase 3 of 5, 25 minutes: HLO, as the compiler dumps it.

Shows what a compile leaves in its dump folder, the program before and after optimization, and where in it the fusions,
the layouts and the constants are. With --to it writes every file there, to be read by hand, and says what each is."""

FEW = 3
"""How many files of one sort are named before the rest are counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = command.build_parser("hlo_dump", DESCRIPTION)
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="write every dump into this folder, which is made where it is missing"
    )
    return command.run(parser, show, arguments)


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print the phase."""
    command.open_phase(paper, PHASE)
    require(options.target)
    folder = getattr(options, "to", None)
    if folder is not None:
        make_folder(folder)
    start_jax()
    show_files(paper, options.target, folder)
    from xla_inspect.practice import models

    found = compile_for(options.target, models.classify, models.PARAMS, models.X)
    show_text(paper, found)
    show_fusions(paper, found)
    show_layouts(paper, found)
    show_constants(paper, found)
    command.close_phase(paper, PHASE)
    return command.RIGHT


def make_folder(folder: Path) -> None:
    """Make a folder for dumps, and see that it can be written.

    Raises:
        InspectError: It cannot be made or written, or holds the dumps of another compile.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        old = any(folder.glob("module_*"))
    except OSError as error:
        message = f"--to {folder}: cannot write there ({error.strerror}); name a folder of your own"
        raise InspectError(message) from error
    if old:
        message = f"--to {folder}: it holds dumps already, and theirs would be mixed with these; name an empty folder"
        raise InspectError(message)


def show_files(paper: Paper, target: Target, folder: Path | None) -> None:
    """Print what a compile leaves: written to the reader's folder, or to one that goes away."""
    from xla_inspect.practice import models

    paper.heading(f"3.1 The dump, {title(target.name)}")
    paper.show(inspect.getsource(models.classify), "python")
    with tempfile.TemporaryDirectory(prefix="xla_inspect_") as temporary:
        dump(target, folder or Path(temporary), models.classify, models.PARAMS, models.X)
        files = dumped.list_files(folder or Path(temporary))
    paper.say(f"Compiling this leaves {len(files)} files, {size(dumped.total(files))}. They are:")
    for group, named in dumped.GROUPS.items():
        found = [file for file in files if file.group == group]
        if found:
            _show_group(paper, named, found, whole=folder is not None)
    if folder is not None:
        paper.say(f"They lie in {folder}. Open the first two, then the passes in the order of their numbers.")
    else:
        paper.say("This keeps them, to be read by hand, and names each:")
        paper.show(f"uv run python -m xla_inspect.hlo_dump --target {target.name} --to dump")
    asked = flags.dump_folder()
    if asked:
        paper.say(f"XLA_FLAGS says --xla_dump_to={asked}: what this process compiles is dumped there too.")


def _show_group(paper: Paper, named: str, files: list[dumped.Dumped], *, whole: bool) -> None:
    """Print the files of a group: each sort once with what it is, all their names or a few."""
    rows: list[tuple[str, str, str]] = []
    for sort, number in Counter(file.sort for file in files).items():
        same = [file for file in files if file.sort == sort]
        # The start of a pipeline changes nothing: a pass that did is the better example.
        telling = [file for file in same if "pipeline-start" not in file.path.name] or same
        shown = same if whole or number <= FEW else telling[:1]
        for at, file in enumerate(shown):
            repeated = at > 0 and file.said == sort
            name = file.path.name if whole else dumped.shorten(file.path.name)
            rows.append((name, size(file.bytes), "likewise" if repeated else file.said))
        if len(shown) < number:
            rows.append((f"and {number - len(shown)} more", size(dumped.total(same) - dumped.total(shown)), sort))
    paper.table((named, "size", "what it is"), rows, numbers=(1,))


def show_text(paper: Paper, found: Capture) -> None:
    """Print ENTRY before and after optimization."""
    before, after = found.unoptimized_module, found.module
    paper.heading("3.2 Read it: before")
    paper.say(
        "A module is a list of computations; the program starts at ENTRY. Each line reads: name = shape{layout} "
        "opcode(operands), attributes. Metadata and configuration are left out here; the files hold them."
    )
    for computation in before.computations:
        paper.show(print_computation(computation), "hlo")
    paper.heading("3.3 Read it: after")
    paper.say(
        f"{before.instruction_count()} instructions came in. After {len(found.runs)} runs of passes "
        f"it has {after.instruction_count()}, {after.instruction_count(entry_only=True)} of them in ENTRY; the others "
        "are inside computations that ENTRY calls. Predict first: how many of the lines of ENTRY are kernels?"
    )
    paper.show(print_computation(after.entry), "hlo")


def show_fusions(paper: Paper, found: Capture) -> None:
    """Print the fusions, and the computation of one of them."""
    module = found.module
    fusions = list_fusions(module)
    paper.heading("3.4 Find the fusions")
    paper.say(
        "A fusion is one kernel made of several operations. Its line in ENTRY carries `kind=` and `calls=`; the "
        "computation that it calls holds what was fused."
    )
    paper.table(("kernel", "kind", "what is in it"), tables.list_kernels(found))
    if not fusions:
        paper.say("There is no fusion in this one.")
        return
    largest = max(fusions, key=lambda fusion: len(fusion.opcodes))
    paper.say(f"The one with the most inside, {largest.name}:")
    paper.show(print_computation(module.computation(largest.called)), "hlo")


def show_layouts(paper: Paper, found: Capture) -> None:
    """Print the layouts of ENTRY."""
    paper.heading("3.5 Find the layouts")
    rows = tables.list_layouts(found)
    paper.say(
        "What stands in braces after a shape is its layout: the dimensions from the one whose neighbours lie side by "
        "side in memory to the one whose lie farthest apart. `{1,0}` is row after row. `T(8,128)` cuts an array into "
        "tiles, as a TPU reads it, and `S(1)` says that it lies in on-chip memory."
    )
    paper.table(("instruction", "shape", "layout"), rows)
    usual = Counter(layout for _, _, layout in rows)
    listed = ", ".join(f"{count} x {layout}" for layout, count in usual.most_common())
    paper.say(f"Counted: {listed}.")


def show_constants(paper: Paper, found: Capture) -> None:
    """Print where constants stood, and where they stand."""
    paper.heading("3.6 Find the constants")
    paper.say("The program divides by 127.5. Predict first: will the kernel divide?")
    before, after = found.unoptimized_module, found.module
    paper.table(("before", "shape", "where"), tables.list_constants(before))
    paper.table(("after", "shape", "where"), tables.list_constants(after))
    counts = before.opcode_counts(), after.opcode_counts()
    if counts[1]["divide"] < counts[0]["divide"]:
        paper.say(
            f"The division is gone: {counts[0]['divide']} before, {counts[1]['divide']} after. To divide by a constant "
            "is to multiply by its reciprocal, which the compiler worked out. Constants moved into the fusions that "
            "use them, where they cost no memory traffic."
        )


if __name__ == "__main__":
    sys.exit(main())
