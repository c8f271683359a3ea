"""`xla-inspect kernels SUBJECT [NAME]`: what is launched, its lines and work; with a profile, what took how long."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import compilation, traces
from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.output_file import check_output
from xla_inspect.questions import kernels as package
from xla_inspect.targets import find_entry
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.kernels.finding import Kernels
    from xla_inspect.questions.kernels.kernel_times import KernelTimes
    from xla_inspect.subject import Subject
    from xla_inspect.traces import Source, Timing

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which launches are told."""
    which = parser.add_argument_group("which are shown")
    which.add_argument(
        "--kernel",
        metavar="NAME",
        action="append",
        default=[],
        help="tell this one in detail; may repeat, and may follow the subject without --kernel",
    )
    which.add_argument(
        "--rows", metavar="N", type=int, default=package.USUAL_ROWS, help="how many (default: %(default)s)"
    )
    which.add_argument("--all", action="store_true", help="all of them")
    measured = parser.add_argument_group("what was measured")
    measured.add_argument(
        "--trace",
        metavar="FILE",
        type=Path,
        help="a profile: .xplane.pb, a Chrome trace, or what nsys stats --format csv prints; or its folder",
    )
    measured.add_argument(
        "--label", metavar="OUT", type=Path, help="write it as a Chrome trace, .json or .json.gz, with the lines in it"
    )


def take_names(options: argparse.Namespace) -> None:
    """Take the words after the subject for names of launches; those after a script are its own arguments."""
    if options.subject[0] != "run":
        options.kernel = [*options.kernel, *options.subject[1:]]
        options.subject = options.subject[:1]


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield an answer for each target.

    Raises:
        InspectError: No target has a launch that was named.
    """
    if options.trace or options.label:
        yield from _ask_trace(subject, targets, options)
        return
    refused: list[InspectError] = []
    answered = False
    for made in subjects.answer_each(subject, targets, subject.capture):
        capture = made.retold(program=subject.name)
        try:
            yield _ask_one(capture, options)
        except InspectError as error:
            # Compilers name their launches each in its own way: one of them may know the name.
            refused.append(InspectError(f"{capture.target}: {error}"))
        else:
            answered = True
    if refused and not answered:
        raise refused[0]
    for refusal in refused:
        print_note(str(refusal))


def _ask_trace(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[KernelTimes]:
    """Yield what a profile measured, for the targets that it may be of.

    Raises:
        InspectError: There is no profile, or it cannot be read; or the file to write is there.
    """
    if not options.trace:
        message = "--label writes a profile with the lines in it: say which with --trace FILE"
        raise InspectError(message)
    if options.label:
        check_output(options.label, force=options.force)
    source = traces.open_trace(options.trace)
    log.info("reading %s", source.path)
    timing = traces.measure_times(source)
    # Of targets that nobody named, those of the kind that the profile is of.
    alike = [] if options.target else [target for target in targets if find_entry(target).kind == timing.device]
    for capture in subjects.answer_each(subject, (alike or targets)[: 1 if options.label else None], subject.capture):
        if not capture.after:
            message = (
                f"{subject.name} does not compile for {capture.target}, so nothing can be joined to it\n"
                f"why is said by: xla-inspect kernels {' '.join(options.subject)} --target {capture.target}"
            )
            raise InspectError(message)
        yield _join(capture.retold(program=subject.name), (source, timing), options)


def _join(capture: Capture, measured: tuple[Source, Timing], options: argparse.Namespace) -> KernelTimes:
    source, timing = measured
    if not timing.names_instructions and source.has_starts:
        # Only what runs before and after them tells of which launch kernels of libraries are.
        timing = traces.measure_times(source, package.Names(capture).symbols)
    labelled = 0
    if options.label:
        if timing.device != find_entry(capture.target).kind:
            message = (
                f"{source.path} is of a {timing.device.upper() or 'host'}, so it has no line of what {capture.target} "
                "runs\nname the target that it is of with --target"
            )
            raise InspectError(message)
        labelled, _ = traces.write_labelled(source, options.label, package.Names(capture).label)
    return package.join_times(
        capture,
        timing,
        subjects.write_subject(options, capture.target),
        shown=len(capture.after) if options.all else max(options.rows, 0),
        labelled=(str(options.label), labelled) if options.label else ("", 0),
    )


def _ask_one(capture: Capture, options: argparse.Namespace) -> Kernels:
    def tell(registers: dict[str, tuple[int, int, int]] | str) -> Kernels:
        return package.rank_launches(
            capture,
            subjects.write_subject(options, capture.target),
            names=options.kernel,
            shown=len(capture.after) if options.all else max(options.rows, 0),
            registers=registers,
        )

    answer = tell("")
    told = [row for row in answer.launches if row.name in answer.named] or answer.launches[: answer.shown]
    symbols = {row.symbol for row in told if row.symbol}
    if not symbols:
        return answer
    try:
        return tell(compilation.count_registers(capture, symbols))
    except TargetUnavailableError as error:
        return tell(f"Registers are not known here: {error.reason}.")
    except InspectError as error:
        return tell(f"Registers are not known: {error}.")


def kernels(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    names: Collection[str] = (),
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Kernels:
    """Return each launch: its line, what is fused in it, its work, and the least time that it takes.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, with a topology where wanted.
        names: Launches to tell in detail.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`, or there is no such launch.
    """
    found = subjects.take_capture(fn, target, example_args, arguments, lines_of)
    return package.rank_launches(found, names=names)
