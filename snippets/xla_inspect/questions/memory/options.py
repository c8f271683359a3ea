"""`xla-inspect memory`: the options of the question about memory, and its Python function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import analysis
from xla_inspect import subject as subjects
from xla_inspect.questions import memory as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.analysis.estimates import StepTime
    from xla_inspect.captured import Capture
    from xla_inspect.questions.memory.finding import MemoryTrial, MemoryUse
    from xla_inspect.subject import Subject

USUAL = ("h100", "tpu-v5e")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options `--by`, which groups the rows, and `--try`, which compiles changes."""
    group = parser.add_argument_group("options of memory")
    group.add_argument(
        "--by",
        choices=("line", "scope", "buffer"),
        default="line",
        help="group the memory by line, named scope or buffer (default: %(default)s)",
    )
    group.add_argument(
        "--try",
        dest="tried",
        metavar="CHANGE",
        help=f"compile with a change and report the memory that it saves: {', '.join(subjects.KINDS)}, or all",
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[MemoryUse]:
    """Yield the answer about a program's memory for each target, with the changes of `--try` compiled.

    Raises:
        InspectError: The change to try is unknown.
    """
    kinds = subjects.choose_kinds(subject, subjects.read_kinds(options.tried, known=subjects.KINDS))

    def answer(target: str) -> MemoryUse:
        capture = subject.capture(target)
        trials = list(_try_changes(subject, target, kinds, capture)) if kinds else []
        # A dump cannot be compiled with a change, so its answer suggests no command.
        command_words = subjects.write_subject(options, target) if subject.call else ""
        use = package.explain_memory(capture, command_words, by=options.by, trials=[trial for trial, _ in trials])
        if not trials:
            return use
        from xla_inspect.answers import explain_times

        own = _estimate(capture, use)
        step = next(filter(None, (own, *(step for _, step in trials))), None)
        return replace(use, time=own.seconds if own else None, times=explain_times({capture.target: step}))

    yield from subjects.answer_each(subject, targets, answer)


def _try_changes(
    subject: Subject, target: str, kinds: Sequence[str], capture: Capture
) -> Iterator[tuple[MemoryTrial, StepTime | None]]:
    """Compile the program with each change that applies to it; yield its memory or the error message, and its time."""
    for trial in subjects.list_trials(subject, kinds, capture):
        try:
            changed = trial.capture(target)
            use = package.explain_memory(changed, "")
            step = _estimate(changed, use)
        except Exception as error:  # noqa: BLE001 - a change that fails for any reason must not stop the others
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            yield package.MemoryTrial(trial.change, None, None, text), None
        else:
            # A change may free main memory but still exceed an on-chip memory.
            note = use.refusal.sentence if use.refusal and use.refusal.space != analysis.HBM else ""
            time = step.seconds if step else None
            yield package.MemoryTrial(trial.change, use.needed_bytes or None, use.fits, note, time), step


def _estimate(capture: Capture, use: MemoryUse) -> StepTime | None:
    """Return the estimated time of a program, or None if it does not fit and so cannot run."""
    # The help of the command must not import the package of estimates.
    from xla_inspect.analysis.estimates import time_program

    return time_program(capture) if use.holds else None


def memory(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "cpu",
    by: str = "line",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> MemoryUse:
    """Return a program's planned memory by line and whether it fits, even if the compiler runs out of memory.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        by: The grouping of the rows: `line`, `scope` or `buffer`.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    return package.explain_memory(subjects.take_capture(fn, target, example_args, arguments, lines_of), "", by=by)
