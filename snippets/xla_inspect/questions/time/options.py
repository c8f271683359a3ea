"""`xla-inspect time SUBJECT`: the estimated time of a step before it runs, by line of Python and by kind of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.analysis.estimates import list_options
from xla_inspect.questions import time as package
from xla_inspect.questions.kernels import USUAL_ROWS
from xla_inspect.targets import lane

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.analysis.estimates import DeviceRates
    from xla_inspect.captured import Capture
    from xla_inspect.questions.time.finding import TimeEstimate
    from xla_inspect.subject import Subject

USUAL = ("h100", "tpu-v5e")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options `--rows` and `--calibrate`."""
    group = parser.add_argument_group("options of time")
    group.add_argument(
        "--rows",
        metavar="N",
        type=int,
        default=USUAL_ROWS,
        help="the number of lines to show (default: %(default)s)",
    )
    group.add_argument(
        "--calibrate",
        action="store_true",
        help="measure this machine's CPU once, in about a minute, for estimates of the target cpu",
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[TimeEstimate]:
    """Yield the estimate of a program's time for each target."""

    def answer(target: str) -> TimeEstimate:
        # A saved capture or a dump cannot be compiled again, so it has the figures that its compile wrote.
        settings: dict[str, Any] = {"options": extra} if subject.call and (extra := list_options(target)) else {}
        capture = subject.capture(target, **settings)
        return package.estimate_time(
            capture,
            subjects.write_subject(options, target) if subject.call else "",
            rows=max(options.rows, 0),
            rates=find_cpu(target, calibrate=options.calibrate),
        )

    yield from subjects.answer_each(subject, targets, answer)


def find_cpu(target: str, *, calibrate: bool) -> DeviceRates | None:
    """Return the measured rates of the target `cpu`, or None if they are unknown and must not be measured."""
    from xla_inspect.questions.time.cpu_rates import measure_cpu, read_cpu

    return None if lane(target) != "cpu" else measure_cpu() if calibrate else read_cpu()


def time(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "h100",
    lines_of: str = "",
    calibrate: bool = False,
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> TimeEstimate:
    """Return an estimate of a program's time with its range, by line and by kind of work. A function is compiled first.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        lines_of: As in `summary`.
        calibrate: Whether to measure this machine's CPU for an estimate of the target `cpu`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    from xla_inspect.captured import Capture

    # A capture was compiled already, with or without the compiler's estimates.
    if not isinstance(fn, Capture) and (extra := list_options(target)):
        arguments["options"] = {**extra, **(arguments.get("options") or {})}
    capture = subjects.take_capture(fn, target, example_args, arguments, lines_of)
    return package.estimate_time(capture, rates=find_cpu(capture.target, calibrate=calibrate))
