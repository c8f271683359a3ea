"""What compilers said of their reasons, target by target: the pass, the verdict, their own words and what those mean.

The markup has no classes, so that the build explains the names of passes in it, as it does in prose.
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
_LIST = re.compile(r'^(?P<lead>[ \t]*)<dl data-reasons="\d+">(?P<groups>.*?)</dl>$', re.MULTILINE)
_GROUP = re.compile(r"<div[^>]*><dt>(?P<target>.*?)</dt>(?P<quotes>.*?)</div>")
_QUOTE = re.compile(
    r"<dd>(?:<p>(?P<by>.*?) <b data-verdict=\"(?P<verdict>\w+)\">\w+</b></p>"
    r"<blockquote><p><code>(?P<words>.*?)</code></p></blockquote>)?<p>(?P<told>.*?)</p></dd>"
)
_CODE = re.compile(r"<code>(.*?)</code>")
_ANCHOR = re.compile(r'<a href="([^"]*)">(.*?)</a>')


def quote_reasons(found: Mapping[str, Decision | Sequence[Decision] | str]) -> str:
    """Return what compilers said, as HTML.

    Args:
        found: By target, or by what a variant is called, the decisions that answer a question, or a sentence that says
            why there is none; in that, what stands between backticks is code. What was said of several runs of a pass
            in the same words is shown once.

    Returns:
        One line: of each target each decision, with its pass, its verdict, the compiler's own words, what they mean,
        and a link to the place in XLA's source that says so.

    Raises:
        ValueError: A target has neither a decision nor a sentence.
    """
    groups = []
    for target, said in found.items():
        quotes = [_tell(said)] if isinstance(said, str) else list(_list_quotes(said))
        if not all(quotes) or not quotes:
            message = f"nothing is said of {target}: give a decision, or a sentence that says why there is none"
            raise ValueError(message)
        kind, name = _name(target)
        groups.append(
            f"<div{f' data-lane="{kind}"' if kind else ''}><dt>{markdown.escape(name)}</dt>"
            f"{''.join(f'<dd>{quote}</dd>' for quote in quotes)}</div>"
        )
    return f'<dl data-reasons="{len(groups)}">{"".join(groups)}</dl>\n'


def find_said(reasons: Reasons, *kinds: str, about: Collection[str] = ()) -> tuple[Decision, ...]:
    """Return the first decision of each kind of message, in the order of the kinds.

    Args:
        reasons: What a compiler said.
        *kinds: The keys of messages, as in `Decision.kind`.
        about: Instructions of which one had a part; so counts one that a pass made from it, as `dot.1.0` from `dot.1`.
    """

    def has_part(decision: Decision) -> bool:
        names = (decision.instruction, *decision.others)
        return not about or any(name == one or name.startswith(f"{one}.") for name in names for one in about)

    found = (next((each for each in reasons.decisions if each.kind == kind and has_part(each)), None) for kind in kinds)
    return tuple(each for each in found if each)


def find_decisions(found: Capture, kind: str, about: str = "", others: Collection[str] = ()) -> list[Decision]:
    """Return the decisions of a kind, in the order of the log.

    Args:
        found: A capture with its compiler's reasons.
        kind: The key of a message, as in `Decision.kind`.
        about: The beginning of the name of the instruction that each is about.
        others: Instructions that all had a part in each.
    """
    return [
        each
        for each in read_reasons(found).decisions
        if each.kind == kind and each.instruction.startswith(about) and {*others} <= {*each.others}
    ]


def convert_reasons(text: str) -> str:
    """Return what a block printed with each list of reasons as plain Markdown: a point for each decision."""
    return _LIST.sub(lambda match: "\n".join(match["lead"] + line for line in _list_points(match["groups"])), text)


def _name(target: str) -> tuple[str, str]:
    """Return the colour and the name of a target, or a variant's name without one."""
    try:
        return lane(target), title(target)
    except InspectError:
        return "", target


def _list_quotes(said: Decision | Sequence[Decision]) -> Iterator[str]:
    told: dict[tuple[str, ...], Decision] = {}
    for each in [said] if isinstance(said, Decision) else said:
        told.setdefault((each.pass_name, each.verdict, each.words, each.sentence), each)
    for each in told.values():
        by = f"<code>{html.escape(each.pass_name)}</code>" if each.pass_name else "outside of the passes"
        yield (
            f'<p>{by} <b data-verdict="{each.verdict}">{each.verdict}</b></p>'
            f"<blockquote><p>{markdown.code(each.words)}</p></blockquote>"
            f"<p>{_say(each)} {_locate(each.place)}</p>"
        )


def _say(decision: Decision) -> str:
    """Return what a decision means as HTML, the names of instructions as code."""
    if not decision.sentence:
        named = ", ".join(map(markdown.code, filter(None, (decision.instruction, *decision.others))))
        return f"No table has a plain sentence for these words yet{f'; they are about {named}' * bool(named)}."
    templates = (
        each.sentence for each in list_messages() if (each.topic, each.kind) == (decision.topic, decision.kind)
    )
    pattern = next((found for template in templates if (found := _match(template, decision.sentence))), None)
    if pattern is None:
        return markdown.escape(decision.sentence)
    parts, last = [], 0
    for group, value in pattern.groupdict().items():
        start, end = pattern.span(group)
        parts += [markdown.escape(decision.sentence[last:start]), _show(group.rpartition("__")[0], value)]
        last = end
    return "".join([*parts, markdown.escape(decision.sentence[last:])])


def _match(template: str, sentence: str) -> re.Match[str] | None:
    """Return how a sentence was made of its template: groups in the order of the text, each named and numbered."""
    parts = enumerate(Formatter().parse(template))
    pattern = "".join(re.escape(text) + (f"(?P<{name}__{at}>.*?)" if name else "") for at, (text, name, *_) in parts)
    return re.fullmatch(pattern, sentence, re.DOTALL)


def _show(field: str, value: str) -> str:
    """Return a part of a sentence as HTML, the names of instructions as code; who asks may be described in words."""
    if field in _CODED:
        return markdown.code(value)
    if field == "instruction" or field.startswith("other") or (field == "asker" and " " not in value):
        return _mark_names(value)
    return markdown.escape(value)


def _mark_names(text: str) -> str:
    between = _NAME.split(text)
    names = [*map(markdown.code, _NAME.findall(text)), ""]
    return "".join(chain.from_iterable(zip(map(markdown.escape, between), names, strict=True)))


def _tell(sentence: str) -> str:
    """Return a sentence of a page as a paragraph, what stands between backticks as code."""
    parts = sentence.split("`")
    shown = (markdown.code(part) if at % 2 else markdown.escape(part) for at, part in enumerate(parts))
    return f"<p>{''.join(shown)}</p>" if sentence.strip() else ""


def _locate(place: str) -> str:
    """Return where the source of a compiler says it, as HTML."""
    if not place:
        return ""
    if place == CLOSED:
        return "<small>libtpu, whose source is closed</small>"
    root = LLVM if place.startswith("llvm/") else SOURCE
    file = markdown.code(place.rpartition("/")[2])
    return f'<small><a href="{root}{html.escape(place)}">{file}</a></small>'


def _list_points(groups: str) -> Iterator[str]:
    for group in _GROUP.finditer(groups):
        target = html.unescape(group["target"])
        for quote in _QUOTE.finditer(group["quotes"]):
            told = _to_markdown(quote["told"])
            if quote["words"] is None:
                yield f"- **{target}**: {told}"
            else:
                by, words = _to_markdown(quote["by"]), _enclose(html.unescape(quote["words"]))
                yield f"- **{target}**, {by}, {quote['verdict']}, {words}: {told}"


def _to_markdown(text: str) -> str:
    text = _CODE.sub(
        lambda match: _enclose(html.unescape(match[1])), text.replace("<small>", "(").replace("</small>", ")")
    )
    return html.unescape(_ANCHOR.sub(r"[\2](\1)", text)).strip()


def _enclose(text: str) -> str:
    """Return text as code of Markdown, whatever backticks it holds."""
    marks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " * (text.startswith("`") or text.endswith("`"))
    return f"{marks}{space}{text}{space}{marks}"
