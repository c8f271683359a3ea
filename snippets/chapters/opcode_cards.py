"""A filterable list of opcodes: a fold for each, with real lines of HLO and the stages at which each target has it."""

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
    "before": "in the input of the compiler",
    "between": "between two passes",
    "after": "optimized module",
}
HEADER = "https://github.com/openxla/xla/blob/main/xla/hlo/ir/hlo_opcode.h"
SEMANTICS = "https://openxla.org/xla/operation_semantics"
ASYNC = "https://openxla.org/xla/async_ops"
SPECIFICATION = "https://openxla.org/stablehlo/spec"
# Attributes that do not change the meaning of an instruction.
HIDDEN = INCIDENTAL | {"operand_layout_constraints"}
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
_LEXER = HloLexer()


class OpcodeCatalog:
    """Sightings of every opcode: in ordinary programs, in programs with custom primitives, and in HLO written by hand.

    Methods that need a target for which this machine cannot compile raise `TargetUnavailableError`.
    """

    def __init__(
        self,
        rows: Mapping[str, OpcodeRow],
        programs: Sightings,
        primitives: Sightings,
        hand: Module,
        captures: Captures,
    ) -> None:
        """Create the catalog.

        Args:
            rows: The table of opcodes.
            programs: Sightings in programs that call functions of JAX.
            primitives: Sightings in programs that bind custom primitives.
            hand: A module written by hand, which is never compiled.
            captures: The captures of any program, used for the list of compiled and missing targets.
        """
        self.rows, self.programs, self.primitives, self.captures = rows, programs, primitives, captures
        self.hand: dict[str, Instruction] = {instruction.opcode: instruction for instruction in hand.walk()}

    def reach(self, opcode: str) -> Reach:
        """Return the origin of an opcode: `call`, `structure`, `pass`, `primitive`, `hand` or `nowhere`.

        In the input of a compiler, `call` is an opcode from a call of JAX, and `structure` any other. `primitive` is a
        custom primitive of a program, and `hand` is HLO written by hand.
        """
        if opcode in self.programs:
            if not any("before" in stages for stages in self.programs[opcode].values()):
                # No program's input contains the opcode, so a pass must have created it.
                return "pass"
            return "call" if self.rows[opcode].call else "structure"
        if opcode in self.primitives:
            return "primitive"
        return "hand" if opcode in self.hand else "nowhere"

    def sightings(self, opcode: str) -> Mapping[str, Mapping[Stage, Sighting]]:
        """Return the sightings of an opcode by target and stage, in the programs or else in the custom primitives."""
        return self.programs.get(opcode) or self.primitives.get(opcode, {})

    def reached_by(self, *ways: Reach) -> list[str]:
        """Return the opcodes with one of the given origins, in the order of the categories."""
        self._need(*self.captures.targets)
        return [opcode for opcode in CATEGORY if self.reach(opcode) in ways]

    def opcodes_at(self, target: str, stage: Stage = "after") -> set[str]:
        """Return the opcodes that occur for a target at a stage of programs that call functions of JAX."""
        self._need(target)
        return {opcode for opcode, targets in self.programs.items() if stage in targets.get(target, {})}

    def removed_by(self, opcode: str, target: str) -> str:
        """Return the pass of a target's compiler that removes the last instruction of an opcode, or an empty string."""
        self._need(target)
        return self.sightings(opcode)[target]["before"].removed_by

    def bars(self) -> dict[str, dict[str, int | None]]:
        """Return for `chart_bars` the number of opcodes in programs that call JAX, by category and target.

        The number is None for a target that did not compile.
        """
        # The label of a category contains its size, with which its bars have to be compared.
        sizes = Counter(CATEGORY.values())
        return {
            f"{name}, {sizes[name]}": {
                target: sum(
                    CATEGORY[opcode] == name
                    for opcode, stages_by_target in self.programs.items()
                    if target in stages_by_target
                )
                if target in self.captures
                else None
                for target in self.captures.targets
            }
            for name in CATEGORIES
        }

    def _need(self, *targets: str) -> None:
        for target in targets:
            # The lookup raises `TargetUnavailableError` if the target did not compile.
            _ = self.captures[target]


def list_cards(category: str, opcodes: OpcodeCatalog) -> str:
    """Return the opcodes of a category as HTML cards, each folded under its description."""
    rows = (row for row in opcodes.rows.values() if row.category == category)
    return f'<div class="opcodes">{"".join(_card(row, opcodes) for row in rows)}</div>\n'


def list_entries(opcodes: OpcodeCatalog) -> list[tuple[str, str, str, float]]:
    """Return the search entry of each opcode: the id of its card, its name, its description, and a rank.

    The description ends with the functions that the opcode comes from. A name of fewer words ranks higher: `all-gather`
    before `all-gather-start`.
    """
    entries = []
    for row in opcodes.rows.values():
        functions = dict.fromkeys(re.findall(r"<code>[^<]*</code>", _origin(row, opcodes)))
        rank = 3 * (1 + 1 / len(row.opcode.split("-")))
        entries.append((f"op-{row.opcode}", row.opcode, f"{_prose(row.says)} {' '.join(functions)}", rank))
    return entries


def _card(row: OpcodeRow, opcodes: OpcodeCatalog) -> str:
    sightings = opcodes.sightings(row.opcode)
    lead = _lead(row, opcodes)
    parts = [f"<p>{_origin(row, opcodes)}</p>", lead[1], _stages(sightings, lead[0], opcodes), _links(row)]
    return (
        f'<details class="opcode" id="op-{row.opcode}"><summary><code>{row.opcode}</code>'
        f" <span>{_prose(row.says)}</span> {_marks(sightings, opcodes)}</summary>"
        f"{''.join(filter(None, parts))}</details>"
    )


def _marks(sightings: Mapping[str, Mapping[Stage, Sighting]], opcodes: OpcodeCatalog) -> str:
    """Return the targets that have the opcode as HTML; a line, not only a colour, marks those that remove it."""
    marks = [
        f'<i class="{lane(target)}{"" if "after" in sightings[target] else " lost"}">{html.escape(short(target))}</i>'
        for target in opcodes.captures.targets
        if target in sightings
    ]
    return f"<small>{' '.join(marks) or 'handwritten'}</small>"


def _origin(row: OpcodeRow, opcodes: OpcodeCatalog) -> str:
    """Return one or more sentences about the origin of an opcode, as HTML."""
    call = f"<code>{html.escape(row.call)}</code>"
    reach = opcodes.reach(row.opcode)
    if reach == "pass":
        return f"No public function of JAX creates it. {_prose(row.by)}"
    if reach == "primitive":
        return f"{_prose(row.by)} On this page, a custom primitive creates it: {call}."
    if reach == "hand":
        return f"{_prose(row.by)} This line was written by hand, and XLA's parser accepts it:"
    return f"From {call}. {_prose(row.by)}".rstrip() if row.call else _prose(row.by)


def _lead(row: OpcodeRow, opcodes: OpcodeCatalog) -> tuple[str, str]:
    """Return the example line of HLO at the top of a card, as text and as HTML; both are empty without an example."""
    by_target = opcodes.sightings(row.opcode)
    stages: tuple[Stage, ...] = ("before", "after", "between")
    sightings = [
        (target, by_target[target][stage]) for stage in stages for target in by_target if stage in by_target[target]
    ]
    if not sightings:
        line = print_instruction(opcodes.hand[row.opcode], HIDDEN) if row.opcode in opcodes.hand else ""
        return line, _listing(line, "") if line else ""
    # If there are several lines, one from the call in the table is preferred.
    target, lead = next((pair for pair in sightings if row.call and pair[1].expression == row.call), sightings[0])
    line = print_instruction(lead.instruction, HIDDEN)
    same = [
        other
        for other in opcodes.captures.targets
        if lead.stage in by_target.get(other, {})
        and print_instruction(by_target[other][lead.stage].instruction, HIDDEN) == line
    ]
    where = ", ".join(short(other) for other in same or [target])
    return line, _listing(line, f"{where}: {STAGES[lead.stage]}, program <code>{lead.program}</code>")


def _stages(sightings: Mapping[str, Mapping[Stage, Sighting]], lead: str, opcodes: OpcodeCatalog) -> str:
    """Return an HTML list of the stages at which each target has an opcode, and the passes that add or remove it."""
    if not sightings:
        return ""
    items = "".join(
        f'<div class="{lane(target)}"><dt>{html.escape(title(target))}</dt>'
        f"<dd>{_fate(sightings.get(target), lead) if target in opcodes.captures else 'not compiled here'}</dd></div>"
        for target in opcodes.captures.targets
    )
    return f"<dl>{items}</dl>"


def _fate(stages: Mapping[Stage, Sighting] | None, lead: str) -> str:
    if not stages:
        return "does not occur in these programs"
    last = stages.get("after") or stages.get("between")
    line = print_instruction(last.instruction, HIDDEN) if last else ""
    # The card already shows this line above the stages, so it is not repeated.
    listing = "" if line in {"", lead} else _verbatim(html.escape(line))
    if "before" not in stages:
        assert last is not None  # noqa: S101 - a sighting has at least one stage
        maker = f" by <code>{last.made_by}</code>" if last.made_by else ""
        when = (
            "still in the optimized module" if last.stage == "after" else f"removed by <code>{last.removed_by}</code>"
        )
        return f"created{maker}, {when}{listing}"
    if "after" in stages:
        return f"still in the optimized module{listing}"
    remover = stages["before"].removed_by
    return f"removed by <code>{remover}</code>" if remover else "removed during compilation"


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
    # The span keeps the theme's script from laying out the code of every folded card when the page loads.
    return f'<pre><span class="text"><code>{code}</code></span></pre>'


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
