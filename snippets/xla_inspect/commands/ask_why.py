"""`xla-inspect why SUBJECT [WHAT]`: why the compiler did that, in its own words, and which change would change it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect import answers, compilation
from xla_inspect import subject as subjects
from xla_inspect.commands import question
from xla_inspect.counterfactuals import try_changes
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer, Why
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

log = logging.getLogger(__name__)

USUAL = ("h100",)
UNSAVED = (
    "this capture was saved without them; xla-inspect show SUBJECT --stage capture --reasons -o FILE.json saves it with"
)
"""What is said of a capture that lacks them."""
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
    yield from question.answer_each(
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
    finder = answers.WhyFinder(capture.retold(program=subject.name), subject.axes or None)
    asked = question.retype(options, capture.target)
    if not options.what and apart is None:
        if kinds:
            message = "--try is asked of one thing: name it behind the subject, or with --apart A,B"
            raise InspectError(message)
        return answers.list_open_questions(finder, asked, full=options.full)
    answer: Why = finder.answer(asked, options.what, apart=apart, full=options.full, trouble=trouble)
    if not kinds:
        return replace(answer, is_tried=subject.call is not None)
    return try_changes(subject, target, kinds, finder, answer, apart=apart)


def _compile(subject: Subject, target: str) -> tuple[Capture, str]:
    """Return the capture with its passes and reasons, or without reasons and why there are none."""
    if subject.call is None:
        saved = subject.capture(target)
        return saved, "" if saved.log else _explain_silence(saved)
    try:
        return subject.capture(target, passes=True, reasons=True), ""
    except InspectError as error:
        try:
            capture = subject.capture(target, passes=True)
        except InspectError:
            raise error from None
        return capture, str(error)


def _explain_silence(saved: Capture) -> str:
    """Return why a capture that was not compiled here holds no reasons, and how to get them."""
    if "log" not in saved.missing:
        return UNSAVED
    variables = "\n".join(f"  {name}={value}" for name, value in compilation.list_variables(compilation.LEVELS).items())
    return (
        f"{saved.missing['log']}: ask about the function itself, it is compiled so; for a log of your own set these "
        f"before Python starts, and keep what goes to standard error:\n{variables}"
    )
