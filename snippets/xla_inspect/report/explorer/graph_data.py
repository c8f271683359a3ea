"""The optimized entry computation for the explorer's graph: what does work, the values between, and what is moved."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import MAIN, list_launches, main_memory_bytes, measure_traffic, trace_flow
from xla_inspect.report import BOX_KINDS, arrange, describe_boxes, place_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import PassState
    from xla_inspect.hlo import Instruction, Module

# CSS pixels: the least that a box takes across, an edge that passes, and between boxes, as `static/graph.js` has them.
BOX, POINT, GAP = 190, 8, 12
ABREAST = 5
WHOLE = 1_000


def describe_graph(before: Module, last: PassState) -> dict[str, Any]:
    """Return what `static/graph.js` draws.

    Args:
        before: The module that the compiler got.
        last: The optimized module, with the numbers of its instructions.

    Returns:
        `nodes` in the order of the text; `edges`, pairs of positions among them; `plans`, see `plan_rows`;
        `kinds`, what each kind is called;
        `folded`, how many instructions only feed, pack or rename; `traffic`, bytes of main memory `before` and `after`,
        and those that launches move on the `chip` at the end.
        A node has the number of its `instruction`, `name`, `kind`, `head` and the `opcodes` that say what it does,
        what it `reads` from outside and `makes`, whether it `isResult`, the names of the computations it has `called`,
        and the bytes `read` and `written` in main memory and those moved `onChip`.
    """
    module, entry = last.module, last.module.entry
    flow = trace_flow(entry)
    moved = {launch.scheduled.name: measure_traffic(module, launch.instruction) for launch in list_launches(module)}
    nodes = []
    for node, box in zip(flow.nodes, describe_boxes(flow, entry, module), strict=True):
        lines = dict(box.lines[1:])
        reads = lines.pop("reads ", ())
        head, opcodes = next(iter(lines.items()), (node.opcode, ()))
        traffic = moved.get(node.name)
        nodes.append(
            {
                "instruction": last.numbers[node],
                "name": node.name,
                "kind": box.kind,
                "head": head.removesuffix(": "),
                "opcodes": list(opcodes),
                "reads": list(reads),
                "makes": [full for full, _ in box.labels],
                "isResult": box.is_result,
                "called": list(dict.fromkeys(list_called(module, node))),
                "read": traffic.read[MAIN] if traffic else 0,
                "written": traffic.written[MAIN] if traffic else 0,
                "onChip": traffic.total - traffic.main if traffic else 0,
            }
        )
    place = {node.name: number for number, node in enumerate(flow.nodes)}
    edges = {(place[edge.source], place[edge.user]) for edge in flow.edges if edge.user is not None}
    return {
        "nodes": nodes,
        "edges": sorted(edges),
        "plans": plan_rows(len(nodes), sorted(edges)),
        "kinds": BOX_KINDS,
        "folded": len(entry) - len(flow.nodes),
        "traffic": {
            "before": main_memory_bytes(before),
            "after": main_memory_bytes(module),
            "chip": sum(traffic.total - traffic.main for traffic in moved.values()),
        },
    }


def plan_rows(count: int, edges: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return where the boxes go, a plan for each number of boxes that a canvas has room for side by side, from one on.

    Args:
        count: How many boxes there are.
        edges: Pairs of boxes; they go from smaller to larger numbers.

    Returns:
        Of each box its `row` and its `middle`; `passing`, where its edges pass the rows below it, down to the row
        before their last end; `room`, what each box of a row may take with the gap beside it. All but rows are parts of
        the canvas's width, of which it has `WHOLE`. The last plan is for more room too. `omitted` is there where edges
        that pass many rows of a large graph are not drawn, and says how many.
    """
    plans: list[dict[str, Any]] = []
    for abreast in range(1, ABREAST + 1):
        arranged = arrange(count, edges, abreast)
        width = (abreast + 0.5) * (BOX + GAP)
        row_of = {node: number for number, row in enumerate(arranged.rows) for node in row}
        boxed = Counter(row_of[node] for node in range(count))
        room = [(width - POINT * (len(row) - boxed[at])) / max(boxed[at], 1) for at, row in enumerate(arranged.rows)]
        widths = [room[row_of[node]] if node < count else POINT for node in range(len(row_of))]
        middle = place_nodes(arranged, widths, width)
        below = {upper: lower for upper, lower in arranged.steps if lower >= count}
        plans.append(
            {
                "row": [row_of[node] for node in range(count)],
                "middle": [round(WHOLE * x / width) for x in middle[:count]],
                "passing": [[round(WHOLE * middle[at] / width) for at in _chain(below, node)] for node in range(count)],
                "room": [round(WHOLE * taken / width) for taken in room],
                **({"omitted": arranged.left_out} if arranged.left_out else {}),
            }
        )
        if max(boxed.values(), default=0) < abreast:
            break
    return plans


def _chain(below: Mapping[int, int], node: int) -> Iterator[int]:
    while node in below:
        node = below[node]
        yield node


def list_called(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the names of the computations that an instruction calls, and that these call, callers first."""
    for name in instruction.called:
        yield name
        for inner in module.computation(name):
            yield from list_called(module, inner)
