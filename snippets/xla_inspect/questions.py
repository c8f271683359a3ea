"""The questions of the command line as functions, each of which returns an answer: plain data that prints itself.

A question is asked of a function and its example arguments, as `capture` takes them, or of a capture that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import use_lines_of
from xla_inspect.answers import (
    CompileTimes,
    Difference,
    Exchanges,
    Kernels,
    MemoryUse,
    OpenQuestions,
    Summary,
    Why,
    WhyFinder,
    compare_captures,
    explain_memory,
    explain_passes,
    find_exchanges,
    list_open_questions,
    rank_launches,
    summarize,
)
from xla_inspect.captured import Capture
from xla_inspect.compilation import begin, describe_program
from xla_inspect.counterfactuals import try_changes
from xla_inspect.errors import InspectError
from xla_inspect.subject import Call, Subject, read_kinds
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

_OF_CALL = ("donate_arg", "mesh", "specs", "static_arg")
"""How the arguments of `capture` begin that say how a function is called."""


def summary(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    targets: Sequence[str] = USUAL,
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Summary:
    """Return the targets side by side: kernels, bytes, flops, memory, collectives.

    Args:
        fn: A function, or a capture of it.
        *example_args: Its positional arguments: arrays, shapes, or pytrees of them.
        targets: Short names.
        lines_of: A package or module, such as `flax.linen`, whose lines are named instead of your lines that call it.
        **arguments: Any other argument of `capture`, and keyword arguments of the function.

    Raises:
        TargetUnavailableError: This machine cannot compile for a target.
        InspectError: No such target or option, no line of the package, or arguments that do not go together.
    """
    targets = [fn.target] if isinstance(fn, Capture) else targets
    captures = [_take(fn, target, example_args, arguments, lines_of) for target in targets]
    return summarize(captures[0].program, captures, "")


def memory(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    by: str = "line",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> MemoryUse:
    """Return whether a program fits, and what takes the memory of a device, also where the compile fails for it.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, with a topology where wanted.
        by: What a row is of: `line`, `scope` or `buffer`.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    return explain_memory(_take(fn, target, example_args, arguments, lines_of), "", by=by)


def collectives(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu:8",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Exchanges:
    """Return what the devices send each other: by line, bytes, axis of the mesh, and who asked for it.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, with as many devices as the mesh has.
        lines_of: As in `summary`.
        **arguments: As in `summary`; `mesh` and `specs` lay the program out.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    found = _take(fn, target, example_args, arguments, lines_of)
    return find_exchanges(found.program, found, arguments.get("mesh") or {})


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
    found = _take(fn, target, example_args, arguments, lines_of)
    return rank_launches(found, names=names)


def passes(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> CompileTimes:
    """Return where the time of the compile went, and what each pass changed.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, with a topology where wanted.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    found = _take(fn, target, example_args, arguments, lines_of, passes=True)
    return explain_passes(found.program, found, "")


def why(  # noqa: PLR0913 - one for each option of the command
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    what: str = "",
    apart: tuple[str, str] | None = None,
    target: str = "cpu",
    full: bool = False,
    try_: str = "",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Why | OpenQuestions:
    """Return why the compiler did something to a part of a program; without a part, which questions it raises.

    Args:
        fn: A function, or a capture of it, made with `reasons=True`.
        *example_args: As in `summary`.
        what: An instruction (`fusion.3`), a line (`model.py:88`, or `88`), a variable, or what JAX calls an operation.
        apart: In its place, two of them that are asked why they are two kernels.
        target: A short name, with a topology where wanted.
        full: Whether all is told.
        try_: Kinds of changes to compile, to see which would change it: as of `--try`, such as `donate,batch` or `all`.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`, or the program has no such thing, with what is nearest; or no such change.
    """
    kinds = read_kinds(try_, "try_")
    if kinds and (isinstance(fn, Capture) or not (what or apart)):
        message = "try_ compiles a program with changes: give the function, and what or apart of it"
        raise InspectError(message)
    found = _take(fn, target, example_args, arguments, lines_of, passes=True, reasons=True)
    finder = WhyFinder(found, arguments.get("mesh"))
    if not what and apart is None:
        return list_open_questions(finder, found.program, full=full)
    answer = finder.answer(found.program, what, apart=apart, full=full)
    if not kinds or isinstance(fn, Capture):
        return answer
    settings = {name: value for name, value in arguments.items() if name.startswith(_OF_CALL)}
    named = {name: value for name, value in arguments.items() if name not in {*settings, "options"}}
    call = Call(fn, example_args, named, settings)
    subject = Subject(found.program, call, options=arguments.get("options"), lines_of=lines_of)
    return try_changes(subject, target, kinds, finder, answer, apart=apart)


def compare(left: Capture, right: Capture, *, lines_of: str = "") -> Difference:
    """Return what differs between two captures: kernels, memory, collectives; the compiler told apart from the code.

    Args:
        left: The first.
        right: The second.
        lines_of: As in `summary`.

    Raises:
        InspectError: Neither has a line of the package.
    """
    left, right = use_lines_of(lines_of, left, right)
    return compare_captures(left, right, (left.target, right.target))


def _take(
    fn: Callable[..., Any] | Capture,
    target: str,
    example_args: tuple[Any, ...],
    arguments: dict[str, Any],
    lines_of: str,
    **kept: bool,
) -> Capture:
    """Return the capture that is asked about, compiled where it is none yet, with the lines of a package."""
    made = fn if isinstance(fn, Capture) else compile_for(target, fn, example_args, arguments, **kept)
    return use_lines_of(lines_of, made)[0]


def compile_for(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    target: str,
    fn: Callable[..., Any],
    example_args: tuple[Any, ...],
    arguments: dict[str, Any],
    *,
    passes: bool = False,
    reasons: bool = False,
) -> Capture:
    """Return the capture of a function; where the compiler gives up, what it left, with `error`."""
    given = dict(arguments)
    options = given.pop("options", None)
    program = describe_program(fn, example_args, given)
    try:
        return begin(program, target, options, passes=passes, timed=False, reasons=reasons)()
    except RuntimeError as error:
        left: Capture | None = getattr(error, "capture", None)
        if left is None:
            raise
        return left
