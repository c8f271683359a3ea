"""The list of passes on the page: one fold per pass, with its targets, its changes and an example."""

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


class ShownPasses:
    """All passes that ran, with their rows of the table.

    Args:
        rows: The table.
        records: The passes in the captures, by name.
        titles: The title of each program, by name.
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
        """Store the passes, and rank them by the number of programs that they changed."""
        self.rows, self.records, self.titles, self.targets, self.usual = rows, records, titles, targets, usual
        self.ranked = sorted(rows, key=lambda name: (-records[name].count(usual), name.lower()))

    def most(self, number: int) -> list[str]:
        """Return the passes, without pipelines, that change the most programs on the usual targets."""
        return [name for name in self.ranked if not self.records[name].inner][:number]

    def kinds(self, name: str) -> frozenset[str]:
        """Return the kinds of target that a pass runs on: `cpu`, `gpu`, `tpu`."""
        return frozenset(map(lane, self.records[name].uses))

    def of_kinds(self, *choices: Collection[str]) -> list[str]:
        """Return, by rank, the passes that changed a program and whose kinds of target equal one of the choices."""
        choice_sets = {frozenset(kinds) for kinds in choices}
        return [name for name in self.ranked if self.records[name].has_changed and self.kinds(name) in choice_sets]

    def quiet(self) -> list[str]:
        """Return the passes that changed no program on any target, by name."""
        return [name for name in self.ranked if not self.records[name].has_changed]

    def link(self, name: str) -> str:
        """Return the name of a pass as an HTML link to its entry."""
        return f'<a href="#{html.escape(self.rows[name].anchor)}"><code>{html.escape(name)}</code></a>'

    def count_programs(self, name: str, targets: Iterable[str]) -> list[str]:
        """Return, for each target, the number of programs whose text a pass changed; empty if it never ran there."""
        uses = self.records[name].uses
        return [str(len(uses[target].shows)) if target in uses else "" for target in targets]


def list_cards(names: Iterable[str], passes: ShownPasses, *, named: bool = True) -> str:
    """Return passes as HTML, each folded under its sentence.

    Args:
        names: The names of the passes to list.
        passes: All passes that ran.
        named: True for the entries that links lead to and that the page's filter searches.
    """
    kind = "opcodes passes" if named else "opcodes"
    return f'<div class="{kind}">{"".join(_card(name, passes, named=named) for name in names)}</div>\n'


def fold_cards(summary: str, names: Iterable[str], passes: ShownPasses) -> str:
    """Return a list of passes in a fold, which the page's filter opens when an entry in it matches."""
    return f'<details class="listing"><summary>{html.escape(summary)}</summary>{list_cards(names, passes)}</details>\n'


def list_entries(passes: ShownPasses) -> list[tuple[str, str, str]]:
    """Return search entries: the anchor of each pass, and the words of its name if it changed a program.

    The site's search finds them with their section; the page's own filter searches the whole entry.
    """
    return [
        (row.anchor, "", html.escape(row.name.replace("-", " ")) if passes.records[row.name].has_changed else "")
        for row in passes.rows.values()
    ]


def read_topics(row: PassRow) -> Mapping[str, int]:
    """Return, by topic, the number of kinds of message in the log of a pass that `xla-inspect` can explain."""
    return Counter(message.topic for message in list_messages() if message.sentence and row.files & {*message.sources})


def _card(name: str, passes: ShownPasses, *, named: bool) -> str:
    row, record = passes.rows[name], passes.records[name]
    parts = [
        _uses(record, passes),
        _example(record.example, passes) if record.example else "",
        _inner(record, passes),
        _reasons(row),
        f'<p class="where">{_where(record, passes)} {_sources(row)}</p>',
    ]
    anchor = f' id="{html.escape(row.anchor)}"' if named else ""
    return (
        f'<details class="opcode"{anchor}><summary><code>{html.escape(name)}</code>'
        f" <span>{html.escape(row.says, quote=False)}</span> {_marks(record, passes)}</summary>"
        f"{''.join(filter(None, parts))}</details>"
    )


def _marks(record: PassRecord, passes: ShownPasses) -> str:
    """Return the kinds of target that run a pass; a frame, not only a color, marks those where it changes nothing."""
    marks = []
    for kind, targets in groupby(passes.targets, key=lane):
        uses = [record.uses.get(target) for target in targets]
        ran = [use for use in uses if use]
        if ran:
            name = _FAMILIES[kind].removesuffix("s") if len(ran) == len(uses) else f"some {_FAMILIES[kind]}"
            marks.append(f'<i class="{kind}{"" if any(use.changes for use in ran) else " lost"}">{name}</i>')
    return f"<small>{' '.join(marks)}</small>"


def _where(record: PassRecord, passes: ShownPasses) -> str:
    targets = ", ".join(html.escape(short(target)) for target in passes.targets if target in record.uses)
    pipelines = ", ".join(f"<code>{html.escape(pipeline)}</code>" for pipeline in record.pipelines)
    return f"It runs on {targets}, in the pipeline{'s' * (len(record.pipelines) > 1)} {pipelines}."


def _sources(row: PassRow) -> str:
    links = [
        "libtpu (closed)"
        if source == CLOSED
        else f'<a href="{SOURCE}{html.escape(source)}"><code>{html.escape(source)}</code></a>'
        for source in row.sources
    ]
    return f"Source: {' and '.join(links)}."


def _inner(record: PassRecord, passes: ShownPasses) -> str:
    return f"<p>This pipeline runs {', '.join(map(passes.link, record.inner))}.</p>" if record.inner else ""


def _uses(record: PassRecord, passes: ShownPasses) -> str:
    """Return how often a pass ran and changed a program on the usual targets.

    A pass that changed nothing on those also shows one target where it changed a program.
    """
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
        return f"It changed nothing in {plural(use.runs, 'run')}."
    sentence = f"It changed {len(use.programs)} of {plural(programs, 'program')}, in {_count_runs(use)}"
    if not is_compared or len(use.shows) == len(use.programs):
        return f"{sentence}."
    if use.shows:
        return f"{sentence}; the HLO text shows changes in {len(use.shows)}."
    return f"{sentence}; in the HLO text, at most order, numbers or metadata differ."


def _count_runs(use: PassUse) -> str:
    """Return the runs that changed a program, as words: `2 of its 4 runs`, `all 4 runs`, `its only run`."""
    if use.runs == 1:
        return "its only run"
    return f"all {use.runs:,} runs" if use.changes == use.runs else f"{use.changes:,} of its {use.runs:,} runs"


def _example(example: Example, passes: ShownPasses) -> str:
    place = html.escape(f"in “{passes.titles[example.program]}” on the {short(example.target)}")
    # Most summaries are verbs, such as "removed 1 add"; a few, such as "only names changed", have their own subject.
    subject = "" if example.summary.startswith("only ") else "it "
    words = f"<p>Its smallest change: {place}, {subject}{html.escape(example.summary, quote=False)}.</p>"
    if not (example.before or example.after):
        return words
    lines = [*_lines("gd", "-", example.before), *_lines("gi", "+", example.after)]
    if example.more:
        lines.append(f"  ... {plural(example.more, 'more line')}")
    # The theme's script gives an id to each `pre > code` and lays it out, folded or not.
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
    (topic, number), *others = topics.items()
    first = f"{plural(number, 'kind')} of message about {html.escape(topic)}"
    parts = [first, *(f"{number} about {html.escape(topic)}" for topic, number in others)]
    return f"<p><code>xla-inspect</code> explains {' and '.join(parts)} in its log.</p>"
