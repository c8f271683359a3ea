"""The claims as Markdown: one card for each listed claim, plots of numbers, and a picture of all verdicts."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

from claims.declared import CHAPTERS, FILE, HEARD, ClaimError
from claims.finding import Verdict, is_target
from xla_inspect.plural import plural
from xla_inspect.report import figure, format_bytes, markdown, short, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.finding import Case, Comparison
    from claims.ledger import ClaimLedger, Entry

MARKS = {
    Verdict.TRUE: ("true", "\N{CHECK MARK}"),
    Verdict.FALSE: ("false", "\N{BALLOT X}"),
    Verdict.MISLEADING: ("misleading", "\N{ALMOST EQUAL TO}"),
    Verdict.BY_TARGET: ("depends", "\N{CIRCLE WITH LEFT HALF BLACK}"),
    Verdict.BY_CASE: ("depends", "\N{CIRCLE WITH LEFT HALF BLACK}"),
    Verdict.OUTDATED: ("outdated", "\N{ANTICLOCKWISE OPEN CIRCLE ARROW}"),
    Verdict.UNTESTED: ("untested", "\N{EN DASH}"),
}
"""The CSS class and the sign of each verdict."""

_MACHINERY = {"__init__", "cards", "declared", "finding", "ledger"}
_CASES = {
    True: ("holds", "\N{CHECK MARK}"),
    False: ("fails", "\N{BALLOT X}"),
    None: ("answer", "\N{EN DASH}"),
}


def picture(ledger: ClaimLedger) -> str:
    """Return a picture of the number of claims by chapter and verdict: HTML bars that link to the chapters."""
    chapters = ledger.chapters()
    longest = max(map(len, chapters.values()))
    rows = "".join(_bar(name, entries, longest) for name, entries in chapters.items())
    signs: dict[tuple[str, str], list[str]] = {}
    # Two verdicts share a mark, so the key lists the verdicts of each mark together.
    for verdict, mark in MARKS.items():
        signs.setdefault(mark, []).append(str(verdict))
    key = " ".join(
        f'<span class="{name}">{_stay(sign, " or ".join(verdicts))}</span>' for (name, sign), verdicts in signs.items()
    )
    caption = f"Claims by chapter and verdict: {key}. A dashed edge marks claims without a check."
    return figure("verdicts", f"<ol>{rows}</ol>", caption)


def _bar(name: str, entries: tuple[Entry, ...], longest: int) -> str:
    counts = Counter((MARKS[entry.verdict], entry.finding is not None) for entry in entries)
    order = list(dict.fromkeys(MARKS.values()))
    segments = sorted(counts.items(), key=lambda item: (order.index(item[0][0]), not item[0][1]))
    parts = "".join(
        f'<span class="{_classes(mark, checked=checked)}" style="flex-grow:{number}">{_stay(sign, str(number))}</span>'
        for ((mark, sign), checked), number in segments
    )
    bar = f'<span style="width:{100 * len(entries) / longest:.0f}%">{parts}</span>'
    return f'<li><a href="#{name}">{CHAPTERS[name]}</a><span>{bar}</span></li>'


def _classes(mark: str, *, checked: bool) -> str:
    return mark if checked else f"{mark} unchecked"


def _stay(sign: str, text: str) -> str:
    """Return a sign with its text, on one line."""
    return f"{sign}\N{NO-BREAK SPACE}{text}"


def cards(entries: tuple[Entry, ...]) -> str:
    """Return one card per claim, as a Markdown list.

    Raises:
        ClaimError: A claim is heard everywhere, but its check returned no numbers to plot.
    """
    return "\n".join(map(_card, entries)) + "\n"


def list_chapter(ledger: ClaimLedger, chapter: str) -> str:
    """Return the cards of a chapter's common claims as Markdown, and a fold with the less common claims.

    The claims that are heard everywhere are omitted, because the page plots them in a separate section.
    """
    often, others = (cards(ledger.heard(how, chapter)) for how in HEARD[1:])
    count = len(ledger.heard(HEARD[2], chapter))
    return often + (f"\n{markdown.fold(plural(count, 'less common claim'), others)}" if count else "")


def draw_compared(compared: Comparison) -> str:
    """Return the claimed and the actual numbers, by case, as HTML bars on one scale."""
    # If all numbers are 0, a scale of 1 avoids a division by zero.
    most = max([*compared.said.values(), *compared.found.values()]) or 1
    rows = []
    for case, number in compared.found.items():
        claimed = compared.said[case]
        words = f"{_amount(number, compared.unit)}, not {_amount(claimed, compared.unit)}"
        words = words if number != claimed else f"{_amount(number, compared.unit)}, as claimed"
        rows.append(
            f'<span class="row"><span>{html.escape(short(case) if is_target(case) else case)}</span>'
            f'<span class="track"><span class="found" style="width:{100 * number / most:.1f}%"></span>'
            f'<span class="said" style="left:{100 * claimed / most:.1f}%"></span></span><span>{words}</span></span>'
        )
    return f'<span class="compared"><span class="unit">{html.escape(compared.unit)}</span>{"".join(rows)}</span>'


def _amount(number: int, unit: str) -> str:
    return format_bytes(number) if unit == "bytes" else f"{number:,}"


def list_entries(entries: tuple[Entry, ...]) -> list[tuple[str, str, str]]:
    """Return the search entry of each claim: the id of its card, an empty title, and the claim.

    The entry of a common claim also has the truth about it.

    Every browser that searches downloads all entries, so the entries of less common claims are short.
    """
    texts = {entry.claim.id: f"{_state(entry)} {entry.claim.truth if entry.claim.heard else ''}" for entry in entries}
    # Search results are plain text, in which backticks would stay visible.
    return [(name, "", html.escape(text.replace("`", "").strip(), quote=False)) for name, text in texts.items()]


def _state(entry: Entry) -> str:
    return entry.claim.claim.format(*(f"{number:,}" for number in entry.claim.said))


def _card(entry: Entry) -> str:
    claim = entry.claim
    mark, sign = MARKS[entry.verdict]
    parts = [
        _span(f"verdict {_classes(mark, checked=entry.finding is not None)}", f"[{sign} {entry.verdict}](#{claim.id})"),
        _span("claim", _state(entry)),
    ]
    if entry.gap:
        parts.append(f'<span class="gap">Not run here: {markdown.escape(entry.gap)}</span>')
    if entry.finding and claim.heard == HEARD[0]:
        if entry.finding.comparison is None:
            message = f"{claim.place}: {claim.id} is heard everywhere, but its check returns no number to plot"
            raise ClaimError(message)
        parts.append(draw_compared(entry.finding.comparison))
    if entry.finding:
        parts += [_case(name, case) for name, case in _merge(entry.finding.cases).items()]
        if entry.finding.reading:
            parts.append(_case("implication", entry.finding.reading))
    parts.append(_span("truth", claim.truth))
    parts.append(_span("from", " \N{MIDDLE DOT} ".join(_sources(entry))))
    return f"- {' '.join(parts)}\n{{ .entry #{claim.id} }}"


def _merge(cases: Mapping[str, Case]) -> dict[str, Case]:
    """Return the cases with equal ones merged under the joined names of their targets and element types."""
    by: dict[Case, list[str]] = {}
    for name, case in cases.items():
        by.setdefault(case, []).append(name)
    return {_join(names): case for case, names in by.items()}


def _join(names: list[str]) -> str:
    types: dict[str, list[str]] = {}
    for name in names:
        target, _, rest = name.partition(", ") if is_target(name) else (name, "", "")
        types.setdefault(title(target) if is_target(name) else target, []).append(rest)
    # If all element types have the same result, the name of the target is enough.
    return ", ".join(f"{name} {rest[0]}" if rest[0] and len(rest) == 1 else name for name, rest in types.items())


def _case(name: str, case: Case) -> str:
    kind, sign = _CASES[case.holds]
    label = f"<b>{html.escape(name)}:</b> " if name else ""
    # Without a label, the evidence begins the line.
    evidence = case.found if label else case.found[:1].upper() + case.found[1:]
    return _span(f"case {kind}", f"{sign} {label}{evidence}")


def _sources(entry: Entry) -> list[str]:
    claim = entry.claim
    parts = []
    if claim.shown:
        page = claim.shown.partition(".md")[0]
        lead = "Shown in" if claim.check else "See also"
        parts.append(
            f"[{lead} {CHAPTERS.get(page, page.replace('-', ' ').capitalize().replace('hlo', 'HLO'))}]({claim.shown})"
        )
    if claim.check:
        module, _, function = claim.check.partition(".")
        parts.append(f'<a href="#checks-{module.replace("_", "-")}"><code>{function}</code></a>')
    if claim.source:
        parts.append(f"[Source{'' if claim.check else ', not run here'}]({claim.source})")
    if claim.once:
        parts.append(f"[Earlier source]({claim.once})")
    return parts


def _span(name: str, text: str) -> str:
    return f'<span class="{name}">{text}</span>'


def checks() -> str:
    """Return the source files of all checks as Markdown, each module in a fold."""
    folder = FILE.parents[2] / "snippets" / "claims"
    folds = []
    for path in sorted(folder.glob("*.py")):
        if path.stem not in _MACHINERY:
            source = markdown.fence(path.read_text(encoding="utf-8"), "text")
            folds.append(f'<div id="checks-{path.stem.replace("_", "-")}"></div>\n')
            # The fence itself adds two lines to the source.
            lines = plural(len(source.splitlines()) - 2, "line")
            folds.append(markdown.fold(f"snippets/claims/{path.name}, {lines}", source))
    return "\n".join(folds)
