"""Phase 3 of the practice: the compiler's dump, and the fusions, layouts and constants in it."""

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

Shows what a compile leaves in its dump folder, the program before and after optimization, where in it the fusions, the
layouts and the constants are, and the jaxpr beside it. With --to it writes every file there, to be read by hand, and
says what the files are."""

FEW = 3
"""How many files of one sort are named before the rest are counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = command.build_parser("hlo_dump", DESCRIPTION)
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="write every dump into this folder, which is made where it is missing"
    )
    return command.show_and_exit(parser, show, arguments)


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print the phase."""
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
    """Print what a compile leaves: written to the reader's folder, or to a temporary one."""
    from xla_inspect.practice import models

    paper.heading(f"3.1 The dump, {title(target.name)}")
    paper.show(inspect.getsource(models.classify), "python")
    with tempfile.TemporaryDirectory(prefix="xla_inspect_") as temporary:
        into = folder or Path(temporary)
        before = {*into.iterdir()}
        dump(target, into, models.classify, models.PARAMS, models.X)
        files = [file for file in dump_folder.list_files(into) if file.path not in before]
    paper.say(f"Compiling this leaves {len(files)} files, {format_bytes(sum(file.bytes for file in files))}. They are:")
    _show_groups(paper, files, whole=folder is not None)
    if folder is not None:
        paper.say(f"They lie in {folder}. Open the first two, then the passes in the order of their numbers.")
    else:
        paper.say("This keeps them, to be read by hand, and names each:")
        paper.show(run_line(f"python -m xla_inspect.hlo_dump --target {target.name} --to dump"))
    asked = flags.dump_folder()
    if asked and Path(asked).is_dir():
        files = dump_folder.list_files(Path(asked))
        paper.say(
            f"And XLA_FLAGS says --xla_dump_to={asked}: what this process compiles as JAX alone does is dumped there, "
            f"with the dumps that XLA_FLAGS asks for and no others. {len(files)} files lie in {asked} now:"
        )
        _show_groups(paper, files, whole=True)


def _show_groups(paper: Paper, files: list[dump_folder.DumpFile], *, whole: bool) -> None:
    """Print the files of a folder by group."""
    for group, names in dump_folder.GROUPS.items():
        members = [file for file in files if file.group == group]
        if members:
            _show_group(paper, names, members, whole=whole)


def _show_group(paper: Paper, named: str, files: list[dump_folder.DumpFile], *, whole: bool) -> None:
    """Print the files of a group: each sort with what it is, and the names of a few, whole or as far as they differ."""
    rows: list[tuple[str, str, str]] = []
    for sort, number in Counter(file.sort for file in files).items():
        same = [file for file in files if file.sort == sort]
        # The start of a pipeline changes nothing: a pass that did is the better example.
        telling = [file for file in same if "pipeline-start" not in file.path.name] or same
        examples = same if number <= FEW else telling[:1]
        for at, file in enumerate(examples):
            repeated = at > 0 and file.said == sort
            name = file.path.name if whole else strip_front(file.path.name)
            rows.append((name, format_bytes(file.bytes), "likewise" if repeated else file.said))
        if len(examples) < number:
            rows.append(
                (
                    f"and {number - len(examples)} more",
                    format_bytes(sum(file.bytes for file in same) - sum(file.bytes for file in examples)),
                    sort,
                )
            )
    paper.table((named, "size", "what it is"), rows, numbers=(1,))


def show_text(paper: Paper, capture: Capture, forecast: Forecast) -> None:
    """Print ENTRY before and after optimization."""
    before, after = capture.unoptimized_module, capture.module
    paper.heading("3.2 Read it: before")
    paper.say(
        "A module is a list of computations; the program starts at ENTRY. Each line reads: name = shape{layout} "
        "opcode(operands), attributes. Metadata and configuration are left out here; the files hold them."
    )
    for computation in before.computations:
        paper.show(print_computation(computation), "hlo")
    paper.heading("3.3 Read it: after")
    paper.say(
        f"{before.instruction_count()} instructions came in. After {len(capture.runs)} runs of passes "
        f"it has {after.instruction_count()}, {after.instruction_count(entry_only=True)} of them in ENTRY; the others "
        "are inside computations that ENTRY calls."
    )
    text = forecast.commit(f"How many of these {after.instruction_count(entry_only=True)} lines are kernels?")
    paper.show(print_computation(after.entry), "hlo")
    forecast.reveal(
        text,
        len(list_kernels(capture)),
        "each is a fusion, a matmul, a copy or a call of a library; parameters, constants, tuples and "
        "bitcasts run nothing.",
        "kernels",
    )


def show_fusions(paper: Paper, capture: Capture) -> None:
    """Print the fusions, and the computation of one of them."""
    module = capture.module
    fusions = list_fusions(module)
    paper.heading("3.4 Find the fusions")
    paper.say(
        "A fusion is one kernel made of several operations. Its line in ENTRY carries `kind=` and `calls=`; the "
        "computation that it calls holds what was fused."
    )
    paper.table(("kernel", "kind", "what is in it"), tables.describe_kernels(capture))
    if not fusions:
        paper.say("There is no fusion in this one.")
        return
    largest = max(fusions, key=lambda fusion: len(fusion.opcodes))
    paper.say(f"The one with the most inside, {largest.name}:")
    paper.show(print_computation(module.computation(largest.called)), "hlo")


def show_layouts(paper: Paper, capture: Capture) -> None:
    """Print the layouts of ENTRY."""
    paper.heading("3.5 Find the layouts")
    rows = tables.list_layouts(capture)
    paper.say(
        "What stands in braces after a shape is its layout: the dimensions from the one whose neighbours lie side by "
        "side in memory to the one whose lie farthest apart. `{1,0}` is row after row. `T(8,128)` splits an array into "
        "tiles, as a TPU reads it, and `S(1)` says that it lies in on-chip memory."
    )
    paper.table(("instruction", "shape", "layout"), rows)
    usual = Counter(layout for _, _, layout in rows)
    listed = ", ".join(f"{count} x {layout}" for layout, count in usual.most_common())
    paper.say(f"Counted: {listed}.")


def show_constants(paper: Paper, capture: Capture, forecast: Forecast) -> None:
    """Print where constants stood, and where they stand."""
    paper.heading("3.6 Find the constants")
    before, after = capture.unoptimized_module, capture.module
    text = forecast.commit("The program divides by 127.5. Will the kernel divide?", (YES, NO))
    paper.table(("before", "shape", "where"), tables.list_constants(before))
    paper.table(("after", "shape", "where"), tables.list_constants(after))
    counts = before.opcode_counts(), after.opcode_counts()
    forecast.reveal(
        text,
        YES if counts[1]["divide"] else NO,
        f"{plural(counts[0]['divide'], 'division')} before, and {counts[1]['divide']} after. "
        + (
            "To divide by a constant is to multiply by its reciprocal, which the compiler worked out."
            if counts[1]["divide"] < counts[0]["divide"]
            else "This compiler keeps it."
        ),
        "divides",
    )
    paper.say("Constants moved into the fusions that use them, where they cost no memory traffic.")


def show_beside(paper: Paper, capture: Capture) -> None:
    """Print the jaxpr beside both modules."""
    from xla_inspect.practice import Equations, jaxpr_to_hlo, models

    equations = Equations(models.classify, models.PARAMS, models.X)
    equations.name_inputs("params", "pixels")
    paper.heading("3.7 The jaxpr beside its HLO")
    paper.say(
        "Each equation, in the notation of phase 2, and what came of it. It is looked up: with the instructions that "
        "it makes of an equation JAX notes the primitive and the line of Python, and the compiler keeps both where it "
        "can."
    )
    paper.table(("equation", "HLO before", "HLO after, and in which kernel"), jaxpr_to_hlo.rows(capture, equations))
    rows = jaxpr_to_hlo.set_beside(capture, equations)
    several = max(rows[:-1], key=lambda row: len(row.before))
    paper.say(
        f"{len(equations)} equations became {sum(len(row.before) for row in rows[:-1])} instructions; "
        f"{len(rows[-1].before)} more stand for inputs and numbers. A jaxpr may add shapes that only fit when one is "
        f"repeated, and HLO says how: `{several.equation}` alone takes {len(several.before)}."
    )
    paper.table(("", "jaxpr", "HLO before", "HLO after"), jaxpr_to_hlo.compare(capture, equations), numbers=(1, 2, 3))
    paper.say("A jaxpr says what is computed; layouts and kernels are the compiler's, and only HLO has them.")


if __name__ == "__main__":
    sys.exit(main())
