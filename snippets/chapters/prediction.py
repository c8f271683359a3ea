"""Questions that a reader answers before the output does: choices and key come from captures, and nothing is typed.

Each choice is a fold that says whether it is right, what it is the value of, and where the listing stands; the script
`predict.js` makes buttons of the folds, and keeps the first guess in the browser.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.report import format_bytes, markdown, title
from xla_inspect.targets import available

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
    r'<p class="(?P<verdict>right|wrong)"><b>.*?</b> (?P<told>.*?)</p></details>'
)

_DIRECTIONS = {
    "most": re.compile(r"\b(?:most|more|largest|larger|longest|longer|highest|higher|greatest|biggest|bigger|last)\b"),
    "least": re.compile(r"\b(?:least|less|fewest|fewer|smallest|smaller|shortest|shorter|lowest|lower|first)\b"),
}

type Value = str | int | float


@dataclass(frozen=True)
class _Choice:
    """One answer: what it says, whether it is the key, and the sentences that it opens to, as Markdown of one line."""

    says: str
    right: bool
    told: str


def ask_which(  # noqa: PLR0913 - a question has that many parts, by name
    question: str,
    measured: Mapping[str, float],
    *,
    pick: Literal["most", "least"] = "most",
    unit: str = "",
    see: str,
    because: str = "",
) -> str:
    """Return the question which of several has the largest or the smallest value.

    Args:
        question: A sentence; what stands between backticks is code.
        measured: By the name of a target or of a variant, what was measured of it.
        pick: Which value is asked for.
        unit: What the values count, such as `kernels`; `bytes` are shown in KiB and MiB.
        see: The address on the page where the listing stands, such as `#kernels`.
        because: A sentence that says why, for whoever has answered.

    Returns:
        One line of HTML.

    Raises:
        ValueError: Two share the value, so that there is no one answer, or there is nothing to choose from; or the
            question asks for the other extreme.
        TargetUnavailableError: The same, on a machine that cannot compile for a target.
    """
    _check_direction(question, pick)
    extreme = (max if pick == "most" else min)(measured.values(), default=0)
    keys = [label for label, value in measured.items() if value == extreme]
    if len(measured) < 2:  # noqa: PLR2004 - one is no choice
        _refuse(question, "there are fewer than two to choose from: measure more targets or variants")
    if len(keys) > 1:
        _refuse(
            question, f"{' and '.join(keys)} share the value {extreme}: ask about a value that one of them has alone"
        )
    values = "; ".join(f"{_name(label)}: {_show(value, unit)}" for label, value in measured.items())
    choices = (
        _Choice(
            _name(label),
            label == keys[0],
            _join(f"It is {_name(keys[0])}." * (label != keys[0]), f"{values}.", because),
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
    """Return the question what a value is, to be chosen among values that other targets or variants really have.

    Args:
        question: A sentence; what stands between backticks is code.
        key: The value.
        others: By the name of another target or variant, its value.
        see: As in `ask_which`.
        because: As in `ask_which`.
        unit: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        ValueError: All others have the same value, so that there is nothing to choose from.
        TargetUnavailableError: The same, on a machine that cannot compile for a target.
    """
    owners: dict[str, list[str]] = {}
    for label, value in others.items():
        owners.setdefault(_show(value, unit), []).append(_name(label))
    right = _show(key, unit)
    same = owners.pop(right, [])
    if not owners:
        _refuse(question, f"all others have the value {right} as well: compare with a variant in which it differs")
    rest = "; ".join(f"{', '.join(labels)}: {shown}" for shown, labels in owners.items())
    too = f"The same for {_list(same)}." if same else ""
    found: dict[str, tuple[Value, _Choice]] = {
        right: (key, _Choice(right, right=True, told=_join(too, f"{rest}.", because)))
    }
    for value in others.values():
        if (shown := _show(value, unit)) not in found:
            told = _join(f"{shown} is the value for {_list(owners[shown])}; here it is {right}.", because)
            found[shown] = (value, _Choice(shown, right=False, told=told))
    ordered = sorted(found.values(), key=lambda pair: _order(pair[0]))
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
    """Return the question whether something holds.

    Args:
        question: A sentence; what stands between backticks is code.
        holds: Whether it does, computed.
        yes: The choice that is right where it holds.
        no: The other.
        see: As in `ask_which`.
        because: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        TypeError: What decides is no truth value.
    """
    _check_truth(question, holds)
    answer = yes if holds else no
    choices = (_Choice(says, says == answer, because) for says in (yes, no))
    return _write("whether", question, choices, see)


def ask_reason(question: str, reasons: Mapping[str, bool], *, see: str) -> str:
    """Return the question why something is as it is.

    Args:
        question: A sentence; what stands between backticks is code.
        reasons: By the sentence that states a reason, whether it holds here, computed.
        see: As in `ask_which`.

    Returns:
        One line of HTML.

    Raises:
        TypeError: What decides about a reason is no truth value.
        ValueError: Not exactly one holds, or there is nothing to choose from.
    """
    for holds in reasons.values():
        _check_truth(question, holds)
    right = [reason for reason, holds in reasons.items() if holds]
    if len(reasons) < 2 or len(right) != 1:  # noqa: PLR2004 - one is no choice
        found = " and ".join(f'"{reason}"' for reason in right) or "none"
        _refuse(
            question, f"of {len(reasons)} reasons exactly one must hold, and {found} do: ask for what tells them apart"
        )
    choices = (
        _Choice(reason, holds, "" if holds else f"That does not hold here. What does: {_end(right[0])}")
        for reason, holds in reasons.items()
    )
    return _write("reason", question, sorted(choices, key=lambda choice: _order(choice.says)), see)


def convert_questions(text: str) -> str:
    """Return what a block printed with each question as plain Markdown: the choices as a list, then the answer."""
    return _QUESTION.sub(_tell_question, text)


def _tell_question(match: re.Match[str]) -> str:
    folds = list(_FOLD.finditer(match["folds"]))
    answer = next(fold for fold in folds if fold["verdict"] == "right")
    lines = [
        match["question"],
        "",
        *(f"- {fold['says']}" for fold in folds),
        "",
        f"Answer: {_end(answer['says'])} {answer['told']}",
    ]
    return "\n".join(match["lead"] + line if line else "" for line in lines)


def _write(kind: str, question: str, choices: Iterable[_Choice], see: str) -> str:
    """Return a question with its choices as one line of HTML."""
    if not _PLACE.fullmatch(see):
        message = f'"{question}": `see` leads to the listing on the same page, as "#kernels" does, and not to "{see}"'
        raise ValueError(message)
    listed = list(choices)
    said = [choice.says for choice in listed]
    name = f"predict-{_digest(question)}"
    link = f'<a href="{see}">See what the compiler did</a>'
    folds = "".join(
        f'<details class="predict-choice"><summary>{_inline(choice.says)}</summary>'
        f'<p class="{"right" if choice.right else "wrong"}"><b>{"Right." if choice.right else "Wrong."}</b> '
        f"{_inline(choice.told)}{' ' * bool(choice.told)}{link}</p></details>"
        for choice in listed
    )
    key = next(choice.says for choice in listed if choice.right)
    return (
        f'<div class="predict" id="{name}" role="group" aria-labelledby="{name}-question" data-kind="{kind}" '
        f'data-digest="{_digest(question, *said, key)}"><p class="predict-question" id="{name}-question">'
        f"<b>Predict:</b> {_inline(question)}</p>{folds}</div>\n"
    )


def _refuse(question: str, why: str) -> NoReturn:
    """Refuse a question, or tell of the target that is missing for it on this machine."""
    for target, reason in available().items():
        if reason:
            raise TargetUnavailableError(target, reason)
    message = f'the question "{question}" has no answer to be found: {why}'
    raise ValueError(message)


def _check_truth(question: str, holds: object) -> None:
    if not isinstance(holds, bool):
        message = f'the question "{question}" is decided by {holds!r}, which is neither True nor False: compare it'
        raise TypeError(message)


def _check_direction(question: str, pick: Literal["most", "least"]) -> None:
    """Refuse a question whose words ask for the other extreme than its key."""
    directions = {name for name, words in _DIRECTIONS.items() if words.search(question.lower())}
    if directions and pick not in directions:
        message = f'the question "{question}" asks for the {min(directions)}, and its key is the {pick}: set `pick`'
        raise ValueError(message)


def _name(label: str) -> str:
    """Return what a target is called, or the name of a variant as it is."""
    try:
        return title(label)
    except InspectError:
        return label


def _show(value: Value, unit: str) -> str:
    """Return a value with its unit, as the page writes it."""
    if unit == "bytes" and isinstance(value, int):
        return format_bytes(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
    return f"{text} {unit.removesuffix('s') if value == 1 else unit}".rstrip()


def _order(value: Value) -> list[tuple[int, float, str]]:
    """Return what a choice is ordered by: numbers by their size, texts by their letters, numbers in them as such."""
    if isinstance(value, int | float):
        return [(0, value, "")]
    text = str(getattr(value, "exact", value)).replace(",", "").casefold()
    parts = re.findall(r"\d+(?:\.\d+)?|\D+", text)
    return [(0, float(part), "") if part[0].isdecimal() else (1, 0, part) for part in parts]


def _list(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _end(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _inline(text: str) -> str:
    """Return text as HTML, what stands between backticks as code; safe from Markdown too."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return markdown.escape(text)
    return "".join(markdown.code(part) if number % 2 else markdown.escape(part) for number, part in enumerate(parts))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
