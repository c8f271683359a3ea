"""Opcodes as a list to read and to filter: one fold each, with real lines of HLO, and counts of what is reached."""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from pygments import highlight
from pygments.formatters import HtmlFormatter

from xla_inspect.hlo import CATEGORIES, CATEGORY, INCIDENTAL
from xla_inspect.lexers import HloLexer
from xla_inspect.report import lane, print_instruction, short, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapters.opcode_index import Sighting, Sightings, Stage
    from chapters.opcode_rows import OpcodeRow
    from xla_inspect.captured import Captures
    from xla_inspect.hlo import Instruction, Module

type Reach = Literal["call", "structure", "pass", "primitive", "hand", "nowhere"]

STAGES: dict[Stage, str] = {
    "before": "as the compiler got it",
    "between": "between two passes",
    "after": "in the optimized module",
}
HEADER = "https://github.com/openxla/xla/blob/main/xla/hlo/ir/hlo_opcode.h"
SEMANTICS = "https://openxla.org/xla/operation_semantics"
ASYNC = "https://openxla.org/xla/async_ops"
SPECIFICATION = "https://openxla.org/stablehlo/spec"
# What an instruction carries besides its meaning.
HIDDEN = INCIDENTAL | {"operand_layout_constraints"}
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
_LEXER = HloLexer()


class OpcodeCatalog:
    """All that was seen of the opcodes: by ordinary programs, by primitives of our own, and in HLO written by hand.

    What needs a target that this machine cannot compile for raises `TargetUnavailableError`.
    """

    def __init__(
        self,
        rows: Mapping[str, OpcodeRow],
        programs: Sightings,
        primitives: Sightings,
        hand: Module,
        captures: Captures,
    ) -> None:
        """Keep what was seen.

        Args:
            rows: The table of opcodes.
            programs: What programs reach that call functions of JAX.
            primitives: What programs reach that bind primitives of our own.
            hand: A module that nobody compiled.
            captures: Any program's captures, which say for which targets all were compiled and why not for others.
        """
        self.rows, self.programs, self.primitives, self.captures = rows, programs, primitives, captures
        self.hand: dict[str, Instruction] = {instruction.opcode: instruction for instruction in hand.walk()}

    def reach(self, opcode: str) -> Reach:
        """Return how an opcode is reached: by a call of JAX, by a pass, by a primitive of our own, or not at all."""
        if opcode in self.programs:
            if not any("before" in stages for stages in self.programs[opcode].values()):
                return "pass"
            return "call" if self.rows[opcode].call else "structure"
        if opcode in self.primitives:
            return "primitive"
        return "hand" if opcode in self.hand else "nowhere"

    def sightings(self, opcode: str) -> Mapping[str, Mapping[Stage, Sighting]]:
        """Return target to stage to sighting of an opcode, of the programs or else of the primitives."""
        return self.programs.get(opcode) or self.primitives.get(opcode, {})

    def reached(self, *ways: Reach) -> list[str]:
        """Return the opcodes that are reached in one of some ways, in the order of the categories."""
        self._need(*self.captures.targets)
        return [opcode for opcode in CATEGORY if self.reach(opcode) in ways]

    def kept(self, target: str, stage: Stage = "after") -> set[str]:
        """Return the opcodes that occur at a stage for a target, from programs that call JAX."""
        self._need(target)
        return {opcode for opcode, targets in self.programs.items() if stage in targets.get(target, {})}

    def removed_by(self, opcode: str, target: str) -> str:
        """Return the pass after which a target's compiler has no such instruction any more, or an empty string."""
        self._need(target)
        return self.sightings(opcode)[target]["before"].removed_by

    def bars(self) -> dict[str, dict[str, int | None]]:
        """Return category, with its size, to target to the number of opcodes that programs calling JAX reach there."""
        sizes = Counter(CATEGORY.values())
        return {
            f"{name}, {sizes[name]}": {
                target: sum(CATEGORY[opcode] == name for opcode, seen in self.programs.items() if target in seen)
                if target in self.captures
                else None
                for target in self.captures.targets
            }
            for name in CATEGORIES
        }

    def _need(self, *targets: str) -> None:
        for target in targets:
            _ = self.captures[target]


def list_cards(category: str, opcodes: OpcodeCatalog) -> str:
    """Return the opcodes of a category as HTML, each folded under its sentence."""
    rows = (row for row in opcodes.rows.values() if row.category == category)
    return f'<div class="opcodes">{"".join(_card(row, opcodes) for row in rows)}</div>\n'


def list_entries(opcodes: OpcodeCatalog) -> list[tuple[str, str, str, float]]:
    """Return what a search finds of each opcode: the id of its card, its name, what it does, and a rank.

    What it does ends with the functions that it comes from. A name of fewer words ranks before one of more:
    `all-gather` before `all-gather-start`.
    """
    entries = []
    for row in opcodes.rows.values():
        functions = dict.fromkeys(re.findall(r"<code>[^<]*</code>", _origin(row, opcodes)))
        rank = 3 * (1 + 1 / len(row.opcode.split("-")))
        entries.append((f"op-{row.opcode}", row.opcode, f"{_prose(row.says)} {' '.join(functions)}", rank))
    return entries


def _card(row: OpcodeRow, opcodes: OpcodeCatalog) -> str:
    seen = opcodes.sightings(row.opcode)
    lead = _lead(row, opcodes)
    parts = [f"<p>{_origin(row, opcodes)}</p>", lead[1], _stages(seen, lead[0], opcodes), _links(row)]
    return (
        f'<details class="opcode" id="op-{row.opcode}"><summary><code>{row.opcode}</code>'
        f" <span>{_prose(row.says)}</span> {_marks(seen, opcodes)}</summary>{''.join(filter(None, parts))}</details>"
    )


def _marks(seen: Mapping[str, Mapping[Stage, Sighting]], opcodes: OpcodeCatalog) -> str:
    """Return the targets that have it, those that lose it on the way marked otherwise than by colour."""
    marks = [
        f'<i class="{lane(target)}{"" if "after" in seen[target] else " lost"}">{html.escape(short(target))}</i>'
        for target in opcodes.captures.targets
        if target in seen
    ]
    return f"<small>{' '.join(marks) or 'by hand'}</small>"


def _origin(row: OpcodeRow, opcodes: OpcodeCatalog) -> str:
    """Return where it comes from, in words."""
    call = f"<code>{html.escape(row.call)}</code>"
    reach = opcodes.reach(row.opcode)
    if reach == "pass":
        return f"No public function of JAX asks for it. {_prose(row.by)}"
    if reach == "primitive":
        return f"{_prose(row.by)} Here a primitive of this site's own emits it: {call}."
    if reach == "hand":
        return f"{_prose(row.by)} This line was written by hand, and XLA's own parser takes it:"
    return f"From {call}. {_prose(row.by)}".rstrip() if row.call else _prose(row.by)


def _lead(row: OpcodeRow, opcodes: OpcodeCatalog) -> tuple[str, str]:
    """Return the line shown first, as text and as HTML."""
    seen = opcodes.sightings(row.opcode)
    stages: tuple[Stage, ...] = ("before", "after", "between")
    sightings = [(target, seen[target][stage]) for stage in stages for target in seen if stage in seen[target]]
    if not sightings:
        line = print_instruction(opcodes.hand[row.opcode], HIDDEN) if row.opcode in opcodes.hand else ""
        return line, _listing(line, "") if line else ""
    # One line from the call that the row names, where there are several.
    target, lead = next((pair for pair in sightings if row.call and pair[1].expression == row.call), sightings[0])
    line = print_instruction(lead.instruction, HIDDEN)
    same = [
        other
        for other in opcodes.captures.targets
        if lead.stage in seen.get(other, {}) and print_instruction(seen[other][lead.stage].instruction, HIDDEN) == line
    ]
    where = ", ".join(short(other) for other in same or [target])
    return line, _listing(line, f"{where}: {STAGES[lead.stage]}, program <code>{lead.program}</code>")


def _stages(seen: Mapping[str, Mapping[Stage, Sighting]], lead: str, opcodes: OpcodeCatalog) -> str:
    """Return what became of it on each target."""
    if not seen:
        return ""
    items = "".join(
        f'<div class="{lane(target)}"><dt>{html.escape(title(target))}</dt>'
        f"<dd>{_fate(seen.get(target), lead) if target in opcodes.captures else 'not compiled here'}</dd></div>"
        for target in opcodes.captures.targets
    )
    return f"<dl>{items}</dl>"


def _fate(stages: Mapping[Stage, Sighting] | None, lead: str) -> str:
    if not stages:
        return "not in any of these programs"
    last = stages.get("after") or stages.get("between")
    line = print_instruction(last.instruction, HIDDEN) if last else ""
    listing = "" if line in {"", lead} else _verbatim(html.escape(line))
    if "before" not in stages:
        assert last is not None  # noqa: S101 - a sighting has at least one stage
        made = f" by <code>{last.made_by}</code>" if last.made_by else ""
        when = "kept to the end" if last.stage == "after" else f"gone after <code>{last.removed_by}</code>"
        return f"made{made}, {when}{listing}"
    if "after" in stages:
        return f"kept to the end{listing}"
    removed = stages["before"].removed_by
    return f"gone after <code>{removed}</code>" if removed else "gone before the end"


def _links(row: OpcodeRow) -> str:
    links = []
    if row.xla:
        page = ASYNC if row.xla == "async" else f"{SEMANTICS}#{row.xla}"
        links.append((page, "XLA on asynchronous operations" if row.xla == "async" else "XLA's semantics"))
    if row.stablehlo:
        links.append((f"{SPECIFICATION}#{row.stablehlo}", "StableHLO's specification"))
    anchors = " ".join(f'<a href="{page}">{name}</a>' for page, name in links or [(HEADER, "XLA's list of opcodes")])
    return f'<p class="links">{anchors}</p>'


def _listing(line: str, caption: str) -> str:
    coloured = highlight(line, _LEXER, _FORMATTER).strip()
    head = f'<span class="filename">{caption}</span>' if caption else ""
    return f'<div class="language-hlo highlight">{head}{_verbatim(coloured)}</div>'


def _verbatim(code: str) -> str:
    # The theme's script gives an id to each `pre > code` and lays it out, folded or not.
    return f'<pre><span class="text"><code>{code}</code></span></pre>'


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
