"""`xla-inspect why SUBJECT [WHAT]`: the reason for a compiler decision, and the changes that would alter it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import compilation
from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError
from xla_inspect.questions import why as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.why.explanation import Why
    from xla_inspect.questions.why.open_questions import OpenQuestions
    from xla_inspect.subject import Subject

log = logging.getLogger(__name__)

USUAL = ("h100",)

UNSAVED = (
    "this capture was saved without them; to save it with messages, run "
    "xla-inspect show SUBJECT --stage capture --reasons -o FILE.json"
)
"""The reason why a saved capture has no compiler messages."""
_PAIR = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options `--what`, `--apart`, `--try` and `--full`."""
    group = parser.add_argument_group("options of why")
    group.add_argument(
        "--what",
        metavar="WHAT",
        default="",
        help="the part of the program: an instruction (fusion.3), a line (model.py:88, or 88), a variable, or JAX's "
        "name of an operation; it may follow the subject without --what; without it, the command answers the largest "
        "open question and lists the others",
    )
    group.add_argument("--apart", metavar="A,B", default="", help="explain why these two parts are not one kernel")
    group.add_argument(
        "--try",
        dest="tried",
        metavar="CHANGE",
        help=f"compile with changes and report those with an effect: {', '.join(subjects.EFFECTS)}, or all",
    )
    group.add_argument("--full", action="store_true", help="show everything that is known")


def take_names(options: argparse.Namespace) -> None:
    """Move the word after the subject to `options.what`, unless it is an argument of a script.

    Raises:
        InspectError: There is more than one part, counting `--what` and `--apart`.
    """
    # The words after a script are its own arguments.
    if options.subject[0] == "run":
        return
    words = [*filter(None, [options.what]), *options.subject[1:]]
    if len(words) > 1 or (words and options.apart):
        message = (
            f"pass one part at a time, not {', '.join([*words, *filter(None, [options.apart])])}; to ask why two parts "
            "are separate kernels, pass --apart A,B"
        )
        raise InspectError(message)
    options.what = words[0] if words else ""
    options.subject = options.subject[:1]


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield for each target the reason for a decision or, if no part is named, the open questions.

    Raises:
        InspectError: The change to try is unknown, or no target has the part.
    """
    kinds = subjects.choose_kinds(subject, subjects.read_kinds(options.tried))
    apart = _read_pair(options.apart)
    yield from subjects.answer_each(
        subject, targets, lambda target: _ask_one(subject, target, apart, kinds, options), can_refuse=True
    )


def _read_pair(text: str) -> tuple[str, str] | None:
    if not text:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) != _PAIR or not all(words):
        message = f"--apart {text!r}: pass two parts with a comma between them, such as mean,var"
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
    # Large programs take seconds here, so the user sees a message.
    if capture.passes:
        log.info("following each instruction through %d passes", len(capture.passes))
    finder = package.WhyFinder(capture.retold(program=subject.name), subject.axes or None)
    command_words = subjects.write_subject(options, capture.target)
    if not options.what and apart is None:
        if kinds:
            message = "--try needs a part of the program: pass it after the subject, or two parts with --apart A,B"
            raise InspectError(message)
        return package.list_open_questions(finder, command_words, full=options.full)
    answer: Why = finder.answer(command_words, options.what, apart=apart, full=options.full, trouble=trouble)
    if not kinds:
        return replace(answer, is_tried=subject.call is not None)
    return package.try_changes(subject, target, kinds, finder, answer, apart=apart)


def _compile(subject: Subject, target: str) -> tuple[Capture, str]:
    """Compile the subject with passes and messages, or load it; return the capture and why messages are missing."""
    if subject.call is None:
        saved = subject.capture(target)
        return saved, "" if saved.log else _explain_silence(saved)
    # The passes alone can answer most questions, so missing messages are only reported.
    capture, refusals = subject.capture_most(target, ("reasons",), passes=True)
    return capture, "".join(map(str, refusals.values()))


def _explain_silence(saved: Capture) -> str:
    """Return a text about why a saved or dumped capture has no compiler messages, and how to get them."""
    # A saved capture without a log was saved without messages, whereas a dump lists the log as missing.
    if "log" not in saved.missing:
        return UNSAVED
    variables = "\n".join(f"  {name}={value}" for name, value in compilation.list_variables(compilation.LEVELS).items())
    return (
        f"{saved.missing['log']}. Pass the function itself, which is then compiled with messages. For a log of your "
        f"own run, set these variables before Python starts and save standard error:\n{variables}"
    )


def why(  # noqa: PLR0913 - one for each option of the command
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    what: str = "",
    apart: tuple[str, str] | None = None,
    target: str = "cpu",
    full: bool = False,
    try_: str = "",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> Why | OpenQuestions:
    """Explain a compiler decision about a part of a program or, without a part, list the open questions.

    Args:
        fn: A function, or a capture of it that was made with `reasons=True`.
        *example_args: As in `summary`.
        what: An instruction (`fusion.3`), a line (`model.py:88`, or `88`), a variable, or JAX's name of an operation.
        apart: Two parts instead of `what`, to explain why they are two kernels, or one.
        target: A short name, optionally with a topology.
        full: Whether the answer shows everything that is known.
        try_: Kinds of changes to compile to see their effect, as for `--try`, such as `donate,batch` or `all`.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`; or the program has no such part, with the nearest names; or a change is unknown.
    """
    # The help of the command must not import the package of captures.
    from xla_inspect.captured import Capture

    kinds = subjects.read_kinds(try_, "try_")
    if kinds and (isinstance(fn, Capture) or not (what or apart)):
        message = "try_ compiles a changed program: pass the function, not a capture, and what or apart"
        raise InspectError(message)
    capture = subjects.take_capture(fn, target, example_args, arguments, lines_of, passes=True, reasons=True)
    finder = package.WhyFinder(capture, arguments.get("mesh"))
    if not what and apart is None:
        return package.list_open_questions(finder, capture.program, full=full)
    answer = finder.answer(capture.program, what, apart=apart, full=full)
    if not kinds or isinstance(fn, Capture):
        return answer
    subject = subjects.make_subject(capture.program, fn, example_args, arguments, lines_of)
    return package.try_changes(subject, target, kinds, finder, answer, apart=apart)
