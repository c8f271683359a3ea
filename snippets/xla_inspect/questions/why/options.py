"""`xla-inspect why SUBJECT [WHAT]`: why the compiler did that, in its own words, and which change would change it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import compilation
from xla_inspect import subject as subjects
from xla_inspect.captured import Capture
from xla_inspect.errors import InspectError
from xla_inspect.questions import why as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.questions.why.explanation import Why
    from xla_inspect.questions.why.open_questions import OpenQuestions
    from xla_inspect.subject import Subject

log = logging.getLogger(__name__)

USUAL = ("h100",)
_OF_CALL = ("donate_arg", "mesh", "specs", "static_arg")
"""The beginnings of the names of `capture`'s arguments that say how a function is called."""

UNSAVED = (
    "this capture was saved without them; xla-inspect show SUBJECT --stage capture --reasons -o FILE.json saves it with"
)
"""The words about a capture that lacks them."""
_PAIR = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked why of, and what is to be tried."""
    how = parser.add_argument_group("the question")
    how.add_argument(
        "--what",
        metavar="WHAT",
        default="",
        help="an instruction (fusion.3), a line (model.py:88, or 88), a variable, or a name of JAX's; it may follow "
        "the subject without --what; without it the largest question is answered and others are listed",
    )
    how.add_argument("--apart", metavar="A,B", default="", help="why these two are not one kernel")
    how.add_argument(
        "--try",
        dest="tried",
        metavar="CHANGE",
        help=f"compile with changes, and tell which would change it: {', '.join(subjects.EFFECTS)}, or all",
    )
    how.add_argument("--full", action="store_true", help="all that is known of it")


def take_names(options: argparse.Namespace) -> None:
    """Take the word after the subject for what is asked about; those after a script are its own arguments.

    Raises:
        InspectError: There are several.
    """
    if options.subject[0] == "run":
        return
    words = [*filter(None, [options.what]), *options.subject[1:]]
    if len(words) > 1 or (words and options.apart):
        message = (
            f"one thing at a time: {', '.join([*words, *filter(None, [options.apart])])}; "
            "for why two are apart write --apart A,B"
        )
        raise InspectError(message)
    options.what = words[0] if words else ""
    options.subject = options.subject[:1]


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield an answer for each target.

    Raises:
        InspectError: There is no such change to try, or no target has what was named.
    """
    kinds = subjects.read_kinds(options.tried)
    apart = _read_pair(options.apart)
    yield from subjects.answer_each(
        subject, targets, lambda target: _ask_one(subject, target, apart, kinds, options), can_refuse=True
    )


def _read_pair(text: str) -> tuple[str, str] | None:
    if not text:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) != _PAIR or not all(words):
        message = f"--apart {text!r}: name two things with a comma between them, such as mean,var"
        raise InspectError(message)
    return words[0], words[1]


def _ask_one(
    subject: Subject,
    target: str,
    apart: tuple[str, str] | None,
    kinds: Sequence[str],
    options: argparse.Namespace,
) -> Answer:
    capture, trouble = _compile(subject, target)
    if capture.passes:
        log.info("following each instruction through %d passes", len(capture.passes))
    finder = package.WhyFinder(capture.retold(program=subject.name), subject.axes or None)
    asked = subjects.write_subject(options, capture.target)
    if not options.what and apart is None:
        if kinds:
            message = "--try is asked of one thing: name it behind the subject, or with --apart A,B"
            raise InspectError(message)
        return package.list_open_questions(finder, asked, full=options.full)
    answer: Why = finder.answer(asked, options.what, apart=apart, full=options.full, trouble=trouble)
    if not kinds:
        return replace(answer, is_tried=subject.call is not None)
    return package.try_changes(subject, target, kinds, finder, answer, apart=apart)


def _compile(subject: Subject, target: str) -> tuple[Capture, str]:
    """Return the capture with its passes and reasons, or without reasons and why there are none."""
    if subject.call is None:
        saved = subject.capture(target)
        return saved, "" if saved.log else _explain_silence(saved)
    capture, refusals = subject.capture_most(target, ("reasons",), passes=True)
    return capture, "".join(map(str, refusals.values()))


def _explain_silence(saved: Capture) -> str:
    """Return why a capture that was not compiled here holds no reasons, and how to get them."""
    if "log" not in saved.missing:
        return UNSAVED
    variables = "\n".join(f"  {name}={value}" for name, value in compilation.list_variables(compilation.LEVELS).items())
    return (
        f"{saved.missing['log']}: ask about the function itself, it is compiled so; for a log of your own set these "
        f"before Python starts, and keep what goes to standard error:\n{variables}"
    )


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
    kinds = subjects.read_kinds(try_, "try_")
    if kinds and (isinstance(fn, Capture) or not (what or apart)):
        message = "try_ compiles a program with changes: give the function, and what or apart of it"
        raise InspectError(message)
    found = subjects.take_capture(fn, target, example_args, arguments, lines_of, passes=True, reasons=True)
    finder = package.WhyFinder(found, arguments.get("mesh"))
    if not what and apart is None:
        return package.list_open_questions(finder, found.program, full=full)
    answer = finder.answer(found.program, what, apart=apart, full=full)
    if not kinds or isinstance(fn, Capture):
        return answer
    settings = {name: value for name, value in arguments.items() if name.startswith(_OF_CALL)}
    named = {name: value for name, value in arguments.items() if name not in {*settings, "options"}}
    call = subjects.Call(fn, example_args, named, settings)
    subject = subjects.Subject(found.program, call, options=arguments.get("options"), lines_of=lines_of)
    return package.try_changes(subject, target, kinds, finder, answer, apart=apart)
