"""`xla-inspect numbers`: the options of the question about results that a compiler's passes change."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError
from xla_inspect.output_file import check_output
from xla_inspect.questions.numbers.finding import USUAL_ROWS, NumberTrial
from xla_inspect.questions.numbers.other_results import EAGER, WAYS, WIDE, compute_way
from xla_inspect.targets import find_target, title

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.questions.numbers.finding import NumberChanges, Reference
    from xla_inspect.questions.numbers.number_comparison import NumberComparison
    from xla_inspect.subject import Subject

USUAL = ("cpu",)
_NONE = "none"
_CALL = "a call without jit, in which JAX compiles its own functions"
_KEPT = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options for the inputs, for the comparisons, and `--try`."""
    group = parser.add_argument_group("options of numbers")
    add_input_arguments(group)
    group.add_argument(
        "--rows",
        metavar="N",
        type=int,
        default=USUAL_ROWS,
        help="the number of passes to show (default: %(default)d)",
    )
    group.add_argument(
        "--against",
        metavar="WAY",
        action="append",
        help="also compare with the function run eagerly (eager, the default for a function), with the same in float64 "
        "(x64), with the program for another target (its name), or with nothing (none); repeatable",
    )
    group.add_argument(
        "--try",
        dest="tried",
        action="store_true",
        help="compile with two options that may keep the result, and report whether they do",
    )
    group.add_argument(
        "--reproducer",
        metavar="FILE.py",
        type=Path,
        help="write a file that shows the largest step with JAX alone: the smallest part of the module that differs, "
        "and its inputs (large ones in FILE.npz)",
    )


def add_input_arguments(group: argparse._ArgumentGroup) -> None:
    """Add to a group the options for the inputs of a program that runs on this CPU."""
    group.add_argument(
        "--inputs",
        metavar="FILE.npz",
        default="random",
        help="arrays by name or number of the argument, or random (default: %(default)s)",
    )
    group.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the seed of random inputs (default: %(default)d)"
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[NumberChanges]:
    """Yield the answer about a program's numbers for each target.

    Raises:
        InspectError: A way to compare is unknown, or a number is out of range.
    """
    if options.rows < 0:
        message = "--rows is below 0; pass 0 or more"
        raise InspectError(message)
    if path := options.reproducer:
        if path.suffix != ".py" or len(targets) > 1:
            one = "one --target" if len(targets) > 1 else "a name that ends with .py"
            message = f"--reproducer writes one file of Python; pass {one}"
            raise InspectError(message)
        sources = {Path(word.partition(":")[0]).resolve() for word in (options.inputs, *options.subject)}
        if not sources.isdisjoint((path.resolve(), path.with_suffix(".npz").resolve())):
            message = f"--reproducer {path} would overwrite a file that the question reads; pass another name"
            raise InspectError(message)
        check_output(path.with_suffix(".npz"), force=options.force)

    usual = {"inputs": "random", "seed": 0}
    words = [f"--{name}={value}" for name in usual if (value := getattr(options, name)) != usual[name]]
    words += [f"--against={way}" for way in options.against or ()]

    def answer(target: str) -> NumberChanges:
        changes = compare_numbers(
            subject,
            target,
            inputs=options.inputs,
            seed=options.seed,
            rows=options.rows,
            against=options.against,
            tried=options.tried,
            reproducer=options.reproducer,
        )
        command = " ".join([*map(shlex.quote, words), subjects.write_subject(options, target)])
        return replace(changes, asked=command if subject.call else "")

    yield from subjects.answer_each(subject, targets, answer)


def compare_numbers(  # noqa: PLR0913 - the options of the command
    subject: Subject,
    target: str,
    *,
    inputs: Any = "random",  # noqa: ANN401 - a path, arrays, or a word
    seed: int = 0,
    rows: int = USUAL_ROWS,
    against: Sequence[str] | None = None,
    tried: bool = False,
    outputs: Sequence[int] | None = None,
    reproducer: Path | None = None,
) -> NumberChanges:
    """Return the passes that change the results of a program on one target, and the requested comparisons.

    The arguments are those of the command (`add_arguments`), except that only the outputs with the given numbers are
    compared, and that the inputs may be arrays.

    Raises:
        InspectError: A way to compare does not exist or needs a function, or the inputs do not fit the program.
    """
    # The help of the command must not import NumPy.
    from xla_inspect.questions.numbers.number_comparison import NumberComparison, explain_absence
    from xla_inspect.questions.numbers.reproducer import write_reproducer

    is_function = subject.call is not None and type(subject) is subjects.Subject
    is_single = is_function and subject.call is not None and subject.call.devices == 1
    ways = list(dict.fromkeys(against or ([EAGER] if is_single else [])))
    for way in ways:
        if way not in {EAGER, WIDE, _NONE}:
            find_target(way)
        if way != _NONE and (subject.call is None or (way in WAYS and not is_function)):
            kind = "a StableHLO program" if subject.call else subject.origin
            message = f"--against {way} needs a function of Python, and {subject.name} is {kind}"
            raise InspectError(message)
    if tried and subject.call is None:
        message = f"--try compiles the program again, and {subject.name} is {subject.origin}"
        raise InspectError(message)
    capture = subject.capture(target, passes=True)
    if absent := explain_absence(capture):
        return absent
    with NumberComparison(capture, inputs, seed, rows, outputs) as comparison:
        changes = comparison.compare()
        used = [way for way in ways if way != _NONE and changes.ran]
        references = tuple(reference for way in used for reference in _refer(subject, comparison, way))
        trials = tuple(_try_options(subject, target, comparison, changes)) if tried else ()
        if reproducer:
            changes = replace(changes, notes=(*changes.notes, write_reproducer(comparison, changes, reproducer)))
    return replace(changes, references=references, trials=trials)


def _refer(subject: Subject, comparison: NumberComparison, way: str) -> Iterator[Reference]:
    name = WAYS.get(way) or title(subject.name_target(way))
    reference = comparison.refer(name, partial(compute_way, subject, comparison, way))
    yield reference
    if way == EAGER and not (reference.last or reference.absence):
        # The compiled program agrees with each operation, so only the call itself can differ.
        call = comparison.refer(_CALL, partial(compute_way, subject, comparison, way, compiles=True))
        yield from [call] if call.last else []


def _try_options(
    subject: Subject, target: str, comparison: NumberComparison, changes: NumberChanges
) -> Iterator[NumberTrial]:
    """Compile with options that may prevent the largest step, and yield the difference from the result before it."""
    from xla_inspect.questions.numbers.array_difference import compare_results
    from xla_inspect.questions.numbers.device_layout import PARTITIONING

    largest = changes.largest
    if largest is None:
        return
    *_, before = comparison.states[changes.steps.index(largest)]
    options: dict[str, str | bool] = {"xla_allow_excess_precision": False}
    # A program for several devices cannot run without its partitioning.
    if len(largest.passes) == 1 and "/" in largest.passes[0] and not largest.passes[0].endswith(PARTITIONING):
        options["xla_disable_hlo_passes"] = largest.passes[0].rpartition("/")[2]
    for name, value in options.items():
        words = f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        trial = subjects.Trial(words, subject, kind="pass", options={name: value})
        try:
            difference = compare_results(before, comparison.run_capture(trial.capture(target)))
        except Exception as error:  # noqa: BLE001 - an option that fails for any reason must not stop the others
            yield NumberTrial(words, None, keeps=False, error=str(error).partition("\n")[0])
        else:
            relative = difference.relative if difference else 0.0
            is_finite = difference is None or not difference.nonfinite or bool(largest.difference.nonfinite)
            keeps = difference is None or (is_finite and relative < _KEPT * largest.difference.relative)
            yield NumberTrial(words, relative, keeps, "" if is_finite else "it has a NaN or an infinity")


def numbers(  # noqa: PLR0913 - the options of the command
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "cpu",
    inputs: Any = "random",  # noqa: ANN401 - a path, arrays, or a word
    seed: int = 0,
    against: Sequence[str] | None = None,
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> NumberChanges:
    """Return the passes of the compiler that change a program's results, by running it after each pass on this CPU.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        inputs: `random`, the path of a file that `numpy.savez` wrote, or arrays by name or number of the argument.
        seed: The seed of random inputs.
        against: Ways to compare with: `eager` (the default for a function), `x64`, a target, or `none`.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The inputs do not fit the program, or as in `summary`.
    """
    from xla_inspect.analysis import use_lines_of
    from xla_inspect.captured import Capture

    if isinstance(fn, Capture):
        capture = use_lines_of(lines_of, fn)[0]
        subject = subjects.Subject(capture.program, saved={capture.target: capture})
        return compare_numbers(subject, capture.target, inputs=inputs, seed=seed, against=against)
    name = getattr(fn, "__name__", type(fn).__name__)
    subject = subjects.make_subject(name, fn, example_args, arguments, lines_of)
    return compare_numbers(subject, subject.name_target(target), inputs=inputs, seed=seed, against=against)
