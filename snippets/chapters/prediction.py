"""Prediction questions of a page: the choices and the right answer are computed from captures, never typed.

Each choice is a fold with its feedback: right or wrong, the measured values, and a link to the listing on the page. The
script `predict.js` turns the folds into buttons, and stores the first guess in the browser.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.errors import InspectError
from xla_inspect.plural import singular
from xla_inspect.report import format_bytes, markdown, title

from .question_checks import check_direction, check_reasons, check_truth, raise_question_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLACE = re.compile(r"#[\w.-]+")

_QUESTION = re.compile(
    r'^(?P<lead>[ \t]*)<div class="predict" .*?<p class="predict-question"[^>]*>'
    r"(?P<question>.*?)</p>(?P<folds>.*?)</div>$",
    re.MULTILINE,
)
_FOLD = re.compile(
    r"<details[^>]*><summary>(?P<says>.*?)</summary>"
    r'<p class="(?P<verdict>right|wrong)"><b>.*?</b> (?P<feedback>.*?)</p></details>'
)

# Pages also pass titles of targets, as `title` returns them.
_TITLE = re.compile(r"(?:CPU|NVIDIA [\w ]+|TPU ?v?\d\w*)(?: x \d+| \d+(?:x\d+)+)?")

type Value = str | int | float


@dataclass(frozen=True)
class _Choice:
    """One choice of a question.

    Attributes:
        says: The text of the choice.
        right: Whether it is the right answer.
        feedback: The sentences that it opens to, as Markdown on one line.
    """

    says: str
    right: bool
    feedback: str


def ask_which(  # noqa: PLR0913 - a question has that many parts, by name
    question: str,
    measured: Mapping[str, float],
    *,
    pick: Literal["most", "least"] = "most",
    unit: str = "",
    see: str,
    because: str = "",
) -> str:
    """Return a question that asks which target or variant has the largest or the smallest value.

    Args:
        question: A sentence; text between backticks is code.
        measured: The measured value of each target or variant, by name. A variant's name is a noun phrase that can
            follow "for" in a sentence, such as `the tile of this site`.
        pick: The value that the question asks for.
        unit: The plural noun that the values count, such as `kernels`; `bytes` are shown in KiB and MiB.
        see: The anchor of the listing on the page, such as `#kernels`.
        because: A sentence that gives the reason. It is shown after every answer.

    Returns:
        One line of HTML.

    Raises:
        ValueError: Two entries share the largest or smallest value, there is only one entry, or the words of the
            question ask for the opposite of `pick`.
        TargetUnavailableError: The same, on a machine that cannot compile for a target.
    """
    check_direction(question, pick)
    extreme = (max if pick == "most" else min)(measured.values(), default=0)
    keys = [label for label, value in measured.items() if value == extreme]
    if len(measured) < 2:  # noqa: PLR2004 - one is no choice
        raise_question_error(question, "there are fewer than two choices: measure more targets or variants")
    if len(keys) > 1:
        raise_question_error(
            question, f"{_list(keys)} share the value {extreme}: ask about a value that only one of them has"
        )
    values = _list([f"{_show(value, unit)} for {_refer(label)}" for label, value in measured.items()])
    choices = (
        _Choice(
            _name(label),
            label == keys[0],
            _join(f"The answer is {_refer(keys[0])}." * (label != keys[0]), f"The values are {values}.", because),
        )
        for label in measured
    )
    return _write("which", question, sorted(choices, key=lambda choice: _order(choice.says)), see)


def ask_value(  # noqa: PLR0913 - a question has that many parts, by name
    question: str,
    key: Value,
    *,
    others: Mapping[str, Value],
    see: str,
    because: str = "",
    unit: str = "",
) -> str:
    """Return a question that asks for a value; the wrong choices are values that other targets or variants have.

    Args:
        question: A sentence; text between backticks is code.
        key: The right value.
        others: The values of other targets or variants, by name, as in `ask_which`.
        see: As in `ask_which`.
        because: As in `ask_which`.
        unit: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        ValueError: All others have the right value too, so that there is no wrong choice.
        TargetUnavailableError: The same, on a machine that cannot compile for a target.
    """
    owners: dict[str, list[str]] = {}
    for label, value in others.items():
        owners.setdefault(_show(value, unit), []).append(_refer(label))
    right = _show(key, unit)
    same = owners.pop(right, [])
    if not owners:
        raise_question_error(
            question, f"all others have the value {right} as well: compare with a variant that has another value"
        )
    rest = _list([f"{text} for {_list(labels)}" for text, labels in owners.items()])
    equal = f"The value is the same for {_list(same)}." if same else ""
    feedback = _join(equal, f"{'It' if same else 'The value'} is {rest}.", because)
    choices: dict[str, tuple[Value, _Choice]] = {right: (key, _Choice(right, right=True, feedback=feedback))}
    for value in others.values():
        if (text := _show(value, unit)) not in choices:
            feedback = _join(f"The answer is {right}. The value is {text} for {_list(owners[text])}.", because)
            choices[text] = (value, _Choice(text, right=False, feedback=feedback))
    ordered = sorted(choices.values(), key=lambda pair: _order(pair[0]))
    return _write("value", question, (choice for _, choice in ordered), see)


def ask_whether(  # noqa: PLR0913 - a question has that many parts, by name
    question: str,
    holds: bool,  # noqa: FBT001 - the key
    *,
    yes: str = "Yes",
    no: str = "No",
    see: str,
    because: str = "",
) -> str:
    """Return a question that is answered with yes or no.

    Args:
        question: A sentence; text between backticks is code.
        holds: The answer, computed.
        yes: The choice that is right if `holds` is true.
        no: The choice that is right if `holds` is false.
        see: As in `ask_which`.
        because: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        TypeError: `holds` is not a truth value.
    """
    check_truth(question, holds)
    answer = yes if holds else no
    choices = (_Choice(says, says == answer, _sentence(because)) for says in (yes, no))
    return _write("whether", question, choices, see)


def ask_reason(question: str, reasons: Mapping[str, tuple[bool, str]], *, see: str) -> str:
    """Return a question that asks for the reason of something.

    Args:
        question: A sentence; text between backticks is code.
        reasons: The reasons as sentences, each with a pair: a computed value, which is true only for the right reason,
            and a refutation, which only a wrong choice shows. The refutation says in one or two sentences why somebody
            would believe the reason, and what in the output refutes the reason.
        see: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        TypeError: A reason's first value is not a truth value.
        ValueError: There is only one reason, the number of true reasons is not one, a false reason has no refutation
            of its own, or the lengths of the reasons differ so much that they give the answer away.
    """
    for holds, _ in reasons.values():
        check_truth(question, holds)
    right = [reason for reason, (holds, _) in reasons.items() if holds]
    if len(reasons) < 2 or len(right) != 1:  # noqa: PLR2004 - one is no choice
        holding = " and ".join(f'"{reason}"' for reason in right) or "none"
        raise_question_error(
            question, f"exactly one of {len(reasons)} reasons must be true, and not {holding}: compute what differs"
        )
    check_reasons(question, reasons)
    choices = (
        _Choice(reason, holds, "" if holds else _sentence(refutation))
        for reason, (holds, refutation) in reasons.items()
    )
    return _write("reason", question, sorted(choices, key=lambda choice: _order(choice.says)), see)


def write_questions(text: str) -> str:
    """Return text with the HTML of each question replaced by plain Markdown: the choices as a list, then the answer."""
    return _QUESTION.sub(_write_question, text)


def _write_question(match: re.Match[str]) -> str:
    folds = list(_FOLD.finditer(match["folds"]))
    answer = next(fold for fold in folds if fold["verdict"] == "right")
    lines = [
        match["question"],
        "",
        *(f"- {fold['says']}" for fold in folds),
        "",
        f"Answer: {_sentence(answer['says'])} {answer['feedback']}",
    ]
    return "\n".join(match["lead"] + line if line else "" for line in lines)


def _write(kind: str, question: str, choices: Iterable[_Choice], see: str) -> str:
    """Return a question with its choices as one line of HTML; raise ValueError if `see` is no anchor."""
    if not _PLACE.fullmatch(see):
        message = f'"{question}": `see` is an anchor on the same page, such as "#kernels", and not "{see}"'
        raise ValueError(message)
    listed = list(choices)
    answers = [choice.says for choice in listed]
    name = f"predict-{_digest(question)}"
    link = f'<a href="{see}">See what the compiler did</a>'
    folds = "".join(
        f'<details class="predict-choice"><summary>{_inline(choice.says)}</summary>'
        f'<p class="{"right" if choice.right else "wrong"}"><b>{"Right." if choice.right else "Wrong."}</b> '
        f"{_inline(choice.feedback)}{' ' * bool(choice.feedback)}{link}</p></details>"
        for choice in listed
    )
    key = next(choice.says for choice in listed if choice.right)
    return (
        f'<div class="predict" id="{name}" role="group" aria-labelledby="{name}-question" data-kind="{kind}" '
        f'data-digest="{_digest(question, *answers, key)}"><p class="predict-question" id="{name}-question">'
        f"<b>Predict:</b> {_inline(question)}</p>{folds}</div>\n"
    )


def _name(label: str) -> str:
    """Return the title of a target, or the name of a variant unchanged."""
    try:
        return title(label)
    except InspectError:
        return label


def _refer(label: str) -> str:
    """Return a target with its article, or the name of a variant unchanged, for use within a sentence."""
    name = _name(label)
    return f"the {name}" if name != label or _TITLE.fullmatch(name) else label


def _show(value: Value, unit: str) -> str:
    """Return a value with its unit: `1 kernel`, `2 kernels`, `0 launches`."""
    if unit == "bytes" and isinstance(value, int):
        return format_bytes(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
    return f"{text} {singular(unit) if value == 1 else unit}".rstrip()


def _order(value: Value) -> list[tuple[int, float, str]]:
    """Return the sort key of a choice: numbers by size, texts by letters, and numbers in texts by size too."""
    if isinstance(value, int | float):
        return [(0, value, "")]
    text = str(getattr(value, "exact", value)).replace(",", "").casefold()
    parts = re.findall(r"\d+(?:\.\d+)?|\D+", text)
    return [(0, float(part), "") if part[0].isdecimal() else (1, 0, part) for part in parts]


def _list(names: list[str]) -> str:
    """Return names as in `a`, `a and b` or `a, b, and c`."""
    *rest, last = names
    return f"{', '.join(rest)}{',' * (len(rest) > 1)} and {last}" if rest else last


def _join(*sentences: str) -> str:
    return " ".join(map(_sentence, filter(None, sentences)))


def _sentence(text: str) -> str:
    """Return text with a capital and a full stop; a first word such as `cuBLAS` or a piece of code stays as it is."""
    if re.match(r"[a-z]+\s", text):
        text = text[0].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _inline(text: str) -> str:
    """Return text as HTML that Markdown leaves alone, with text between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return markdown.escape(text)
    return "".join(markdown.code(part) if number % 2 else markdown.escape(part) for number, part in enumerate(parts))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
