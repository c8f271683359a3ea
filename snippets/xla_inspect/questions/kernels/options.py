"""`xla-inspect kernels SUBJECT [NAME]`: the launches with lines and work, and with a profile their measured times."""

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
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.kernels.finding import Kernels
    from xla_inspect.questions.kernels.kernel_times import KernelTimes
    from xla_inspect.subject import Subject
    from xla_inspect.traces import Source, Timing

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options that select launches and that read a profile of measured times."""
    selection = parser.add_argument_group("launches to show")
    selection.add_argument(
        "--kernel",
        metavar="NAME",
        action="append",
        default=[],
        help="show this launch in detail; repeatable, and the name may also follow the subject without --kernel",
    )
    selection.add_argument(
        "--rows",
        metavar="N",
        type=int,
        default=package.USUAL_ROWS,
        help="the number of launches to show (default: %(default)s)",
    )
    selection.add_argument("--all", action="store_true", help="show all launches")
    measured = parser.add_argument_group("measured times")
    measured.add_argument(
        "--trace",
        metavar="FILE",
        type=Path,
        help="a profile or its folder: .xplane.pb, a Chrome trace, or the output of nsys stats --format csv",
    )
    measured.add_argument(
        "--label",
        metavar="OUT",
        type=Path,
        help="write the profile as a Chrome trace (.json or .json.gz) whose events name their lines of Python",
    )


def take_names(options: argparse.Namespace) -> None:
    """Move the words after the subject to `options.kernel`, as names of launches, unless they belong to a script."""
    if options.subject[0] != "run":
        options.kernel = [*options.kernel, *options.subject[1:]]
        options.subject = options.subject[:1]


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield the launches for each target, or their measured times if a profile is given with `--trace`.

    Raises:
        InspectError: No target has a launch with one of the names, or a profile cannot be used.
    """
    # A named launch is described in detail, which times alone do not do.
    options.trace = options.trace or (None if options.kernel else subject.profile)
    if options.trace or options.label:
        answers = [*_ask_trace(subject, targets, options)]
        if options.trace != subject.profile or any(answer.launches for answer in answers):
            yield from answers
            return
        print_note(package.UNMEASURED.format(options.trace, subject.name))
    refused: list[InspectError] = []
    answered = False
    for target_capture in subjects.answer_each(subject, targets, subject.capture):
        capture = target_capture.retold(program=subject.name)
        try:
            yield _ask_one(capture, options)
        except InspectError as error:
            # Each compiler has its own names for launches, so another target may know the name.
            refused.append(InspectError(f"{capture.target}: {error}"))
        else:
            answered = True
    # The name is wrong only if no target has it.
    if refused and not answered:
        raise refused[0]
    for refusal in refused:
        print_note(str(refusal))


def _ask_trace(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[KernelTimes]:
    """Yield the measured times in the profile `--trace` for the targets that it may come from; label it if asked.

    Raises:
        InspectError: The profile is missing or cannot be read, or the output file already exists.
    """
    if not options.trace:
        message = "--label needs a profile to label; pass the profile with --trace FILE"
        raise InspectError(message)
    if options.label:
        # An existing file is reported before a large profile is read.
        check_output(options.label, force=options.force)
    source = traces.open_trace(options.trace)
    log.info("reading %s", source.path)
    timing = traces.measure_times(source)
    # Without --target, the targets of the profile's kind are the only ones whose names can match.
    alike = [] if options.target else [target for target in targets if find_entry(target).kind == timing.device]
    # One labeled file can have the lines of only one target.
    for capture in subjects.answer_each(subject, (alike or targets)[: 1 if options.label else None], subject.capture):
        if not capture.after:
            message = (
                f"{subject.name} does not compile for {capture.target}, so its launches have no measured times\n"
                f"for the reason, run: xla-inspect kernels {' '.join(options.subject)} --target {capture.target}"
            )
            raise InspectError(message)
        yield _join(capture.retold(program=subject.name), (source, timing), options)


def _join(capture: Capture, measured: tuple[Source, Timing], options: argparse.Namespace) -> KernelTimes:
    source, timing = measured
    timing = package.measure_program(capture, source, timing)
    labelled = 0
    if options.label:
        # Labels of another target's launches would be wrong without anybody noticing.
        if timing.device != find_entry(capture.target).kind:
            message = (
                f"{source.path} comes from a {timing.device.upper() or 'host'}, so its events do not match the "
                f"launches for {capture.target}\npass the target that it was recorded on with --target"
            )
            raise InspectError(message)
        labelled, _ = traces.write_labelled(source, options.label, package.Names(capture).label)
    return package.join_times(
        capture,
        timing,
        subjects.write_subject(options, capture.target),
        # The length of the text is an upper bound of the number of launches.
        shown=len(capture.after) if options.all else max(options.rows, 0),
        labelled=(str(options.label), labelled) if options.label else ("", 0),
    )


def _ask_one(capture: Capture, options: argparse.Namespace) -> Kernels:
    def tell(registers: Mapping[str, tuple[int, ...]] | str) -> Kernels:
        return package.rank_launches(
            capture,
            subjects.write_subject(options, capture.target),
            names=options.kernel,
            shown=len(capture.after) if options.all else max(options.rows, 0),
            registers=registers,
        )

    answer = tell("")
    # Assembling code takes time, so only the launches that are shown get their registers.
    rows = [row for row in answer.launches if row.name in answer.named] or answer.launches[: answer.shown]
    symbols = {row.symbol for row in rows if row.symbol}
    if not symbols:
        return answer
    try:
        return tell(compilation.count_registers(capture, symbols))
    except TargetUnavailableError as error:
        return tell(f"The number of registers is not known on this machine: {error.reason}.")
    except InspectError as error:
        return tell(f"The number of registers is not known: {error}.")


def kernels(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "cpu",
    names: Collection[str] = (),
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> Kernels:
    """Return each launch with its line, fused operations, work and estimated time. A function is compiled first.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        names: Launches to show in detail.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`, or there is no launch with one of the names.
    """
    capture = subjects.take_capture(fn, target, example_args, arguments, lines_of)
    return package.rank_launches(capture, names=names)
