"""Quotes of the reasons in compilers' logs, by target: the pass, the verdict, the message and its explanation.

The markup has no classes, so the build adds explanations to names of passes in it, as it does in prose.
"""

from __future__ import annotations

import html
import re
from itertools import chain
from string import Formatter
from typing import TYPE_CHECKING

from chapters.pass_cards import SOURCE
from xla_inspect.analysis.reasons import Decision, list_messages, read_reasons
from xla_inspect.errors import InspectError
from xla_inspect.report import lane, markdown, title

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from xla_inspect import Capture
    from xla_inspect.analysis.reasons import Reasons

LLVM = "https://github.com/llvm/llvm-project/blob/main/"
CLOSED = "libtpu"

# Parts of a sentence that are code as a whole; others name instructions.
_CODED = frozenset({"rule", "shape", "words"})
_NAME = re.compile(r"[\w.-]+")
# These patterns read the markup that `quote_reasons` writes, so both must change together.
_LIST = re.compile(r'^(?P<lead>[ \t]*)<dl data-reasons="\d+">(?P<groups>.*?)</dl>$', re.MULTILINE)
_GROUP = re.compile(r"<div[^>]*><dt>(?P<target>.*?)</dt>(?P<quotes>.*?)</div>")
_QUOTE = re.compile(
    r"<dd>(?:<p>(?P<by>.*?) <b data-verdict=\"(?P<verdict>\w+)\">\w+</b></p>"
    r"<blockquote><p><code>(?P<words>.*?)</code></p></blockquote>)?<p>(?P<told>.*?)</p></dd>"
)
_CODE = re.compile(r"<code>(.*?)</code>")
_ANCHOR = re.compile(r'<a href="([^"]*)">(.*?)</a>')


def quote_reasons(answers: Mapping[str, Decision | Sequence[Decision] | str]) -> str:
    """Return the compilers' reasons for their decisions, as HTML.

    Args:
        answers: By target or variant, the decisions that answer a question, or a sentence that says why there is none,
            with text between backticks as code. A message that several runs of a pass repeat is shown once.

    Returns:
        One line with every decision of each target: its pass, its verdict, the compiler's message, the explanation of
        the message, and a link to the file in XLA's source that logs it.

    Raises:
        ValueError: A target has neither a decision nor a sentence.
    """
    groups = []
    for target, answer in answers.items():
        quotes = [_tell(answer)] if isinstance(answer, str) else list(_list_quotes(answer))
        if not all(quotes) or not quotes:
            message = f"{target} has no answer: add a decision, or a sentence that says why there is none"
            raise ValueError(message)
        kind, name = _name(target)
        groups.append(
            f"<div{f' data-lane="{kind}"' if kind else ''}><dt>{markdown.escape(name)}</dt>"
            f"{''.join(f'<dd>{quote}</dd>' for quote in quotes)}</div>"
        )
    return f'<dl data-reasons="{len(groups)}">{"".join(groups)}</dl>\n'


def find_first_decisions(reasons: Reasons, *kinds: str, about: Collection[str] = ()) -> tuple[Decision, ...]:
    """Return the first decision of each kind of message that has one, in the order of the kinds.

    Args:
        reasons: The reasons in a compiler's log.
        *kinds: The kinds of messages, as in `Decision.kind`.
        about: Instructions, one of which the decision is about. An instruction that a pass derived counts too, such as
            `dot.1.0` from `dot.1`.
    """

    def has_part(decision: Decision) -> bool:
        names = (decision.instruction, *decision.others)
        return not about or any(name == one or name.startswith(f"{one}.") for name in names for one in about)

    decisions = (
        next((candidate for candidate in reasons.decisions if candidate.kind == kind and has_part(candidate)), None)
        for kind in kinds
    )
    return tuple(candidate for candidate in decisions if candidate)


def find_decisions(capture: Capture, kind: str, about: str = "", others: Collection[str] = ()) -> list[Decision]:
    """Return the decisions of a kind, in the order of the log.

    Args:
        capture: A capture with its compiler's reasons.
        kind: The kind of message, as in `Decision.kind`.
        about: The start of the name of the instruction that each decision is about.
        others: Further instructions that every decision involves.
    """
    return [
        decision
        for decision in read_reasons(capture).decisions
        if decision.kind == kind and decision.instruction.startswith(about) and {*others} <= {*decision.others}
    ]


def write_quotes(text: str) -> str:
    """Return text with the HTML of `quote_reasons` replaced by plain Markdown: a list item for each decision."""
    return _LIST.sub(lambda match: "\n".join(match["lead"] + line for line in _list_points(match["groups"])), text)


def _name(target: str) -> tuple[str, str]:
    """Return the colour's key and the title of a target, or an empty string and the name of a variant."""
    try:
        return lane(target), title(target)
    except InspectError:
        return "", target


def _list_quotes(decisions: Decision | Sequence[Decision]) -> Iterator[str]:
    distinct: dict[tuple[str, ...], Decision] = {}
    for decision in [decisions] if isinstance(decisions, Decision) else decisions:
        distinct.setdefault((decision.pass_name, decision.verdict, decision.words, decision.sentence), decision)
    for decision in distinct.values():
        by = f"<code>{html.escape(decision.pass_name)}</code>" if decision.pass_name else "outside the passes"
        yield (
            f'<p>{by} <b data-verdict="{decision.verdict}">{decision.verdict}</b></p>'
            f"<blockquote><p>{markdown.code(decision.words)}</p></blockquote>"
            f"<p>{_say(decision)} {_locate(decision.place)}</p>"
        )


def _say(decision: Decision) -> str:
    """Return the explanation of a decision as HTML, with the names of instructions as code."""
    if not decision.sentence:
        names = ", ".join(map(markdown.code, filter(None, (decision.instruction, *decision.others))))
        return f"This message{f' about {names}' * bool(names)} has no explanation yet."
    templates = (
        message.sentence
        for message in list_messages()
        if (message.topic, message.kind) == (decision.topic, decision.kind)
    )
    # Several messages may share a topic and a kind, so the sentence itself selects the template.
    pattern = next((match for template in templates if (match := _match(template, decision.sentence))), None)
    if pattern is None:
        return markdown.escape(decision.sentence)
    parts, last = [], 0
    for group, value in pattern.groupdict().items():
        start, end = pattern.span(group)
        parts += [markdown.escape(decision.sentence[last:start]), _show(group.rpartition("__")[0], value)]
        last = end
    return "".join([*parts, markdown.escape(decision.sentence[last:])])


def _match(template: str, sentence: str) -> re.Match[str] | None:
    """Return the match of a sentence with its template, or None; each field of the template is a numbered group."""
    # A template may contain a field twice, but names of groups must be unique, so they are numbered.
    parts = enumerate(Formatter().parse(template))
    pattern = "".join(re.escape(text) + (f"(?P<{name}__{at}>.*?)" if name else "") for at, (text, name, *_) in parts)
    return re.fullmatch(pattern, sentence, re.DOTALL)


def _show(field: str, value: str) -> str:
    """Return a field of a sentence as HTML.

    A rule, a shape or quoted words are code as a whole. In fields of instructions, each name is code; an `asker` with
    spaces is a description, which stays plain text, like any other field.
    """
    if field in _CODED:
        return markdown.code(value)
    if field == "instruction" or field.startswith("other") or (field == "asker" and " " not in value):
        return _mark_names(value)
    return markdown.escape(value)


def _mark_names(text: str) -> str:
    between = _NAME.split(text)
    # `split` returns one piece more than there are names, so the names get an empty one at the end.
    names = [*map(markdown.code, _NAME.findall(text)), ""]
    return "".join(chain.from_iterable(zip(map(markdown.escape, between), names, strict=True)))


def _tell(sentence: str) -> str:
    """Return a sentence of a page as a paragraph, with text between backticks as code."""
    parts = sentence.split("`")
    pieces = (markdown.code(part) if at % 2 else markdown.escape(part) for at, part in enumerate(parts))
    return f"<p>{''.join(pieces)}</p>" if sentence.strip() else ""


def _locate(place: str) -> str:
    """Return a link to the source file that logs a message, as HTML."""
    if not place:
        return ""
    if place == CLOSED:
        return "<small>libtpu, which is closed source</small>"
    root = LLVM if place.startswith("llvm/") else SOURCE
    file = markdown.code(place.rpartition("/")[2])
    return f'<small><a href="{root}{html.escape(place)}">{file}</a></small>'


def _list_points(groups: str) -> Iterator[str]:
    for group in _GROUP.finditer(groups):
        target = html.unescape(group["target"])
        for quote in _QUOTE.finditer(group["quotes"]):
            meaning = _to_markdown(quote["told"])
            if quote["words"] is None:
                yield f"- **{target}**: {meaning}"
            else:
                by, words = _to_markdown(quote["by"]), _enclose(html.unescape(quote["words"]))
                yield f"- **{target}**, {by}, {quote['verdict']}, {words}: {meaning}"


def _to_markdown(text: str) -> str:
    text = _CODE.sub(
        lambda match: _enclose(html.unescape(match[1])), text.replace("<small>", "(").replace("</small>", ")")
    )
    return html.unescape(_ANCHOR.sub(r"[\2](\1)", text)).strip()


def _enclose(text: str) -> str:
    """Return text as Markdown code, even if it contains backticks."""
    # Markdown ends code at the next run of as many backticks, so a longer run must enclose the text.
    marks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " * (text.startswith("`") or text.endswith("`"))
    return f"{marks}{space}{text}{space}{marks}"
