"""A filterable list of passes: a fold for each, with its targets, its changes and their number."""

from __future__ import annotations

import html
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from pygments import highlight
from pygments.formatters import HtmlFormatter

from chapters.pass_rows import CLOSED
from xla_inspect.analysis.reasons import list_messages
from xla_inspect.lexers import HloLexer
from xla_inspect.plural import plural
from xla_inspect.report import lane, short, title

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from chapters.pass_index import Example, PassRecord, PassUse
    from chapters.pass_rows import PassRow

SOURCE = "https://github.com/openxla/xla/blob/main/"
_FAMILIES = {"cpu": "CPUs", "gpu": "GPUs", "tpu": "TPUs"}
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
_LEXER = HloLexer()


class PassCatalog:
    """All recorded passes, with their rows in the table.

    Args:
        rows: The table.
        records: The record of each pass in the captures, stored as `seen`.
        titles: The titles of the programs, by name.
        targets: All targets, in order.
        usual: The targets whose numbers are shown.
    """

    def __init__(
        self,
        rows: Mapping[str, PassRow],
        records: Mapping[str, PassRecord],
        titles: Mapping[str, str],
        targets: Sequence[str],
        usual: Sequence[str],
    ) -> None:
        """Store the arguments, the records as `seen`, and rank the passes by the number of changed programs."""
        self.rows, self.seen, self.titles, self.targets, self.usual = rows, records, titles, targets, usual
        self.ranked = sorted(rows, key=lambda name: (-records[name].count(usual), name.lower()))

    def most(self, number: int) -> list[str]:
        """Return the `number` passes that change the most programs on the usual targets, without pipelines."""
        return [name for name in self.ranked if not self.seen[name].inner][:number]

    def kinds(self, name: str) -> frozenset[str]:
        """Return the kinds of target that a pass runs on: `cpu`, `gpu`, `tpu`."""
        return frozenset(map(lane, self.seen[name].uses))

    def of_kinds(self, *choices: Collection[str]) -> list[str]:
        """Return the passes, by rank, that changed something and whose set of kinds of target is one of the choices."""
        kind_sets = {frozenset(kinds) for kinds in choices}
        return [name for name in self.ranked if self.seen[name].has_changed and self.kinds(name) in kind_sets]

    def quiet(self) -> list[str]:
        """Return the names of the passes that changed nothing on any target, in the order of the rank."""
        return [name for name in self.ranked if not self.seen[name].has_changed]

    def link(self, name: str) -> str:
        """Return the name of a pass as an HTML link to its entry."""
        return f'<a href="#{html.escape(self.rows[name].anchor)}"><code>{html.escape(name)}</code></a>'

    def count_programs(self, name: str, targets: Iterable[str]) -> list[str]:
        """Return for each target the number, as text, of programs whose text a pass changed; empty if it never ran."""
        uses = self.seen[name].uses
        return [str(len(uses[target].shows)) if target in uses else "" for target in targets]


def list_cards(names: Iterable[str], passes: PassCatalog, *, named: bool = True) -> str:
    """Return passes as HTML cards, each folded under its description.

    Args:
        names: The names of the passes.
        passes: The catalog.
        named: Whether the entries have ids for links and belong to the page's filter.
    """
    kind = "opcodes passes" if named else "opcodes"
    return f'<div class="{kind}">{"".join(_card(name, passes, has_id=named) for name in names)}</div>\n'


def fold_cards(summary: str, names: Iterable[str], passes: PassCatalog) -> str:
    """Return a list of passes in a fold, which the page's filter opens if it contains a match."""
    return f'<details class="listing"><summary>{html.escape(summary)}</summary>{list_cards(names, passes)}</details>\n'


def list_entries(passes: PassCatalog) -> list[tuple[str, str, str]]:
    """Return the search entry of each pass: the id of its card, no title, and words.

    The words are those of the pass's name, if the pass changed something, otherwise none.
    A search finds them with their section; the page's own filter searches the full text of the entries.
    """
    return [
        (row.anchor, "", html.escape(row.name.replace("-", " ")) if passes.seen[row.name].has_changed else "")
        for row in passes.rows.values()
    ]


def read_topics(row: PassRow) -> Mapping[str, int]:
    """Return by topic the number of kinds of messages in a pass's log that the project can explain."""
    return Counter(message.topic for message in list_messages() if message.sentence and row.files & {*message.sources})


def _card(name: str, passes: PassCatalog, *, has_id: bool) -> str:
    row, record = passes.rows[name], passes.seen[name]
    parts = [
        _uses(record, passes),
        _example(record.example, passes) if record.example else "",
        _inner(record, passes),
        _reasons(row),
        f'<p class="where">{_where(record, passes)} {_sources(row)}</p>',
    ]
    anchor = f' id="{html.escape(row.anchor)}"' if has_id else ""
    return (
        f'<details class="opcode"{anchor}><summary><code>{html.escape(name)}</code>'
        f" <span>{html.escape(row.says, quote=False)}</span> {_marks(record, passes)}</summary>"
        f"{''.join(filter(None, parts))}</details>"
    )


def _marks(record: PassRecord, passes: PassCatalog) -> str:
    """Return the kinds of target that run a pass as HTML; a line, not only a colour, marks those it never changes."""
    marks = []
    # `groupby` only joins neighbours; the targets of a kind are next to each other in the list.
    for kind, targets in groupby(passes.targets, key=lane):
        uses = [record.uses.get(target) for target in targets]
        ran = [use for use in uses if use]
        if ran:
            name = _FAMILIES[kind].removesuffix("s") if len(ran) == len(uses) else f"some {_FAMILIES[kind]}"
            marks.append(f'<i class="{kind}{"" if any(use.changes for use in ran) else " lost"}">{name}</i>')
    return f"<small>{' '.join(marks)}</small>"


def _where(record: PassRecord, passes: PassCatalog) -> str:
    targets = ", ".join(html.escape(short(target)) for target in passes.targets if target in record.uses)
    pipelines = ", ".join(f"<code>{html.escape(pipeline)}</code>" for pipeline in record.pipelines)
    return f"It runs on {targets}, in the pipeline{'s' * (len(record.pipelines) > 1)} {pipelines}."


def _sources(row: PassRow) -> str:
    links = [
        "libtpu, which is closed source"
        if source == CLOSED
        else f'<a href="{SOURCE}{html.escape(source)}"><code>{html.escape(source)}</code></a>'
        for source in row.sources
    ]
    return f"Source: {' and '.join(links)}."


def _inner(record: PassRecord, passes: PassCatalog) -> str:
    return f"<p>It runs {', '.join(map(passes.link, record.inner))}.</p>" if record.inner else ""


def _uses(record: PassRecord, passes: PassCatalog) -> str:
    """Return as HTML the number of changes by a pass on the usual targets, or else on another that it changed."""
    if not record.has_changed:
        return ""
    targets = [target for target in passes.usual if target in record.uses]
    if not any(record.uses[target].changes for target in targets):
        targets += [target for target, use in record.uses.items() if use.changes and target not in targets][-1:]
    items = "".join(
        f'<div class="{lane(target)}"><dt>{html.escape(title(target))}</dt><dd>'
        f"{_say_use(use, len(passes.titles), is_compared=target in passes.usual)}</dd></div>"
        for target, use in ((target, record.uses[target]) for target in targets)
    )
    return f"<dl>{items}</dl>"


def _say_use(use: PassUse, programs: int, *, is_compared: bool) -> str:
    if not use.changes:
        return f"changed nothing in {plural(use.runs, 'run')}"
    sentence = (
        f"changed {len(use.programs)} of {plural(programs, 'program')}, in {use.changes:,} of {plural(use.runs, 'run')}"
    )
    # Modules are only compared on the usual targets, so elsewhere there is nothing to add.
    if not is_compared or len(use.shows) == len(use.programs):
        return sentence
    if not use.shows:
        return f"{sentence}; the text of the module shows only another order, other numbers or other metadata"
    return f"{sentence}; the text of the module shows a change in {len(use.shows)} of them"


def _example(example: Example, passes: PassCatalog) -> str:
    where = html.escape(f"{short(example.target)}, {passes.titles[example.program]}")
    words = f"<p>Its smallest change ({where}): {html.escape(example.summary, quote=False)}.</p>"
    if not (example.before or example.after):
        return words
    lines = [*_lines("gd", "-", example.before), *_lines("gi", "+", example.after)]
    if example.more:
        lines.append(f"  ... {plural(example.more, 'more line')}")
    # The span keeps the theme's script from laying out the code of every folded card when the page loads.
    code = "\n".join(lines)
    return f'{words}<div class="language-hlo highlight"><pre><span class="text"><code>{code}</code></span></pre></div>'


def _lines(kind: str, sign: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        # A shortened line may end within a string, which the lexer would mark as an error.
        markup = html.escape(line) if line.endswith("…") else highlight(line, _LEXER, _FORMATTER).strip()
        yield f'<span class="{kind}">{sign}</span> {markup}'


def _reasons(row: PassRow) -> str:
    topics = read_topics(row)
    if not topics:
        return ""
    topics_text = ", ".join(
        f"{html.escape(topic)} ({plural(number, 'kind')} of message)" for topic, number in topics.items()
    )
    return f"<p>Its log gives reasons about these topics: {topics_text}.</p>"
