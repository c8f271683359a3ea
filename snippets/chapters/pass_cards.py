"""Passes as a list to read and to filter: one fold each, with where it runs, what it changes and how often."""

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
    """All passes that were seen, with what the table says of each.

    Args:
        rows: The table.
        seen: What the captures hold.
        titles: The programs, by name: what a reader calls each.
        targets: All targets, in order.
        usual: Those of which the numbers are shown.
    """

    def __init__(
        self,
        rows: Mapping[str, PassRow],
        seen: Mapping[str, PassRecord],
        titles: Mapping[str, str],
        targets: Sequence[str],
        usual: Sequence[str],
    ) -> None:
        """Keep what was seen."""
        self.rows, self.seen, self.titles, self.targets, self.usual = rows, seen, titles, targets, usual
        self.ranked = sorted(rows, key=lambda name: (-seen[name].count(usual), name.lower()))

    def most(self, number: int) -> list[str]:
        """Return the passes that change the most programs on the usual targets, pipelines left out."""
        return [name for name in self.ranked if not self.seen[name].inner][:number]

    def kinds(self, name: str) -> frozenset[str]:
        """Return the kinds of target that a pass runs on: `cpu`, `gpu`, `tpu`."""
        return frozenset(map(lane, self.seen[name].uses))

    def of_kinds(self, *choices: Collection[str]) -> list[str]:
        """Return the passes that changed something and run on exactly one of some choices of kinds, by their rank."""
        wanted = {frozenset(kinds) for kinds in choices}
        return [name for name in self.ranked if self.seen[name].has_changed and self.kinds(name) in wanted]

    def quiet(self) -> list[str]:
        """Return the passes that changed nothing anywhere, by name."""
        return [name for name in self.ranked if not self.seen[name].has_changed]

    def link(self, name: str) -> str:
        """Return the name of a pass as a link to its entry, HTML."""
        return f'<a href="#{html.escape(self.rows[name].anchor)}"><code>{html.escape(name)}</code></a>'

    def count_programs(self, name: str, targets: Iterable[str]) -> list[str]:
        """Return in how many programs the text shows a change by a pass, by target; empty where it never ran."""
        uses = self.seen[name].uses
        return [str(len(uses[target].shows)) if target in uses else "" for target in targets]


def list_cards(names: Iterable[str], passes: PassCatalog, *, named: bool = True) -> str:
    """Return passes as HTML, each folded under its sentence.

    Args:
        names: Theirs.
        passes: What is known of them.
        named: Whether these are the entries that links lead to, and that the filter of the page goes through.
    """
    kind = "opcodes passes" if named else "opcodes"
    return f'<div class="{kind}">{"".join(_card(name, passes, named=named) for name in names)}</div>\n'


def fold_cards(summary: str, names: Iterable[str], passes: PassCatalog) -> str:
    """Return a list of passes in a fold, which the filter of the page opens where it finds something in it."""
    return f'<details class="listing"><summary>{html.escape(summary)}</summary>{list_cards(names, passes)}</details>\n'


def list_entries(passes: PassCatalog) -> list[tuple[str, str, str]]:
    """Return what a search finds of the passes: the words of their names, of those that changed something.

    They are found with the section that they stand in; the page's own filter finds all of a pass.
    """
    return [
        (row.anchor, "", html.escape(row.name.replace("-", " ")) if passes.seen[row.name].has_changed else "")
        for row in passes.rows.values()
    ]


def read_topics(row: PassRow) -> Mapping[str, int]:
    """Return which reasons a pass gives, by topic: how many kinds of message in its log the project can explain."""
    return Counter(message.topic for message in list_messages() if message.sentence and row.files & {*message.sources})


def _card(name: str, passes: PassCatalog, *, named: bool) -> str:
    row, seen = passes.rows[name], passes.seen[name]
    parts = [
        _uses(seen, passes),
        _example(seen.example, passes) if seen.example else "",
        _inner(seen, passes),
        _reasons(row),
        f'<p class="where">{_where(seen, passes)} {_sources(row)}</p>',
    ]
    anchor = f' id="{html.escape(row.anchor)}"' if named else ""
    return (
        f'<details class="opcode"{anchor}><summary><code>{html.escape(name)}</code>'
        f" <span>{html.escape(row.says, quote=False)}</span> {_marks(seen, passes)}</summary>"
        f"{''.join(filter(None, parts))}</details>"
    )


def _marks(seen: PassRecord, passes: PassCatalog) -> str:
    """Return the kinds of target that run it, those where it changes nothing marked otherwise than by colour."""
    marks = []
    for kind, targets in groupby(passes.targets, key=lane):
        uses = [seen.uses.get(target) for target in targets]
        ran = [use for use in uses if use]
        if ran:
            name = _FAMILIES[kind].removesuffix("s") if len(ran) == len(uses) else f"some {_FAMILIES[kind]}"
            marks.append(f'<i class="{kind}{"" if any(use.changes for use in ran) else " lost"}">{name}</i>')
    return f"<small>{' '.join(marks)}</small>"


def _where(seen: PassRecord, passes: PassCatalog) -> str:
    targets = ", ".join(html.escape(short(target)) for target in passes.targets if target in seen.uses)
    pipelines = ", ".join(f"<code>{html.escape(pipeline)}</code>" for pipeline in seen.pipelines)
    return f"Runs on {targets}; in the pipeline{'s' * (len(seen.pipelines) > 1)} {pipelines}."


def _sources(row: PassRow) -> str:
    links = [
        "libtpu, which is closed"
        if source == CLOSED
        else f'<a href="{SOURCE}{html.escape(source)}"><code>{html.escape(source)}</code></a>'
        for source in row.sources
    ]
    return f"Source: {' and '.join(links)}."


def _inner(seen: PassRecord, passes: PassCatalog) -> str:
    return f"<p>It runs {', '.join(map(passes.link, seen.inner))}.</p>" if seen.inner else ""


def _uses(seen: PassRecord, passes: PassCatalog) -> str:
    """Return how often it ran and changed something, on the usual targets, else on the first one that runs it."""
    if not seen.has_changed:
        return ""
    shown = [target for target in passes.usual if target in seen.uses]
    if not any(seen.uses[target].changes for target in shown):
        shown += [target for target, use in seen.uses.items() if use.changes and target not in shown][-1:]
    items = "".join(
        f'<div class="{lane(target)}"><dt>{html.escape(title(target))}</dt><dd>'
        f"{_say_use(use, len(passes.titles), is_compared=target in passes.usual)}</dd></div>"
        for target, use in ((target, seen.uses[target]) for target in shown)
    )
    return f"<dl>{items}</dl>"


def _say_use(use: PassUse, programs: int, *, is_compared: bool) -> str:
    if not use.changes:
        return f"changed nothing in {plural(use.runs, 'run')}"
    said = (
        f"changed {len(use.programs)} of {plural(programs, 'program')}, in {use.changes:,} of {plural(use.runs, 'run')}"
    )
    if not is_compared or len(use.shows) == len(use.programs):
        return said
    return f"{said}; the text shows {f'it in {len(use.shows)}' if use.shows else 'order, numbers or metadata at most'}"


def _example(example: Example, passes: PassCatalog) -> str:
    where = html.escape(f"{short(example.target)}, {passes.titles[example.program]}")
    words = f"<p>Its smallest change, {where}: {html.escape(example.summary, quote=False)}.</p>"
    if not (example.before or example.after):
        return words
    lines = [*_lines("gd", "-", example.before), *_lines("gi", "+", example.after)]
    if example.more:
        lines.append(f"  ... {plural(example.more, 'further line')}")
    # The theme's script gives an id to each `pre > code` and lays it out, folded or not.
    code = "\n".join(lines)
    return f'{words}<div class="language-hlo highlight"><pre><span class="text"><code>{code}</code></span></pre></div>'


def _lines(kind: str, sign: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        # A line that was cut may end within a string, which the lexer would mark as an error.
        drawn = html.escape(line) if line.endswith("…") else highlight(line, _LEXER, _FORMATTER).strip()
        yield f'<span class="{kind}">{sign}</span> {drawn}'


def _reasons(row: PassRow) -> str:
    topics = read_topics(row)
    if not topics:
        return ""
    said = ", ".join(f"{html.escape(topic)} ({plural(number, 'kind')} of message)" for topic, number in topics.items())
    return f"<p>Its log says why: {said}.</p>"
