"""The data of the explorer's graph: the working instructions of the entry computation, values and memory traffic."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import MAIN, list_launches, main_memory_bytes, measure_traffic, trace_flow
from xla_inspect.report import BOX_KINDS, arrange, describe_boxes, place_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import PassState
    from xla_inspect.hlo import Instruction, Module

# CSS pixels, the same as in `static/graph.js`: the least width of a box, of a passing edge, and of a gap.
BOX, POINT, GAP = 190, 8, 12
ABREAST = 5
WHOLE = 1_000


def describe_graph(before: Module, last: PassState) -> dict[str, Any]:
    """Return the graph that `static/graph.js` draws.

    Args:
        before: The module that the compiler received.
        last: The optimized module, with the numbers of its instructions.

    Returns:
        `nodes` in the order of the text; `edges`, pairs of positions of nodes; `plans`, see `plan_rows`;
        `kinds`, the name of each kind;
        `folded`, the number of instructions without work; `traffic`, the bytes of main memory moved `before` and
        `after` the passes, and the bytes that launches of the optimized module move on the `chip`.
        A node has the number of its `instruction`, its `name`, `kind`, `head` and characteristic `opcodes`,
        the inputs that it `reads`, the values that it `makes`, whether it `isResult`, the names of the `called`
        computations, and the bytes `read` and `written` in main memory and moved `onChip`.
    """
    module, entry = last.module, last.module.entry
    flow = trace_flow(entry)
    traffic_by_name = {
        launch.scheduled.name: measure_traffic(module, launch.instruction) for launch in list_launches(module)
    }
    nodes = []
    for node, box in zip(flow.nodes, describe_boxes(flow, entry, module), strict=True):
        lines = dict(box.lines[1:])
        reads = lines.pop("reads ", ())
        head, opcodes = next(iter(lines.items()), (node.opcode, ()))
        traffic = traffic_by_name.get(node.name)
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
            "chip": sum(traffic.total - traffic.main for traffic in traffic_by_name.values()),
        },
    }


def plan_rows(count: int, edges: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the places of the boxes: one plan for each number of boxes that fit side by side, starting with one.

    Args:
        count: The number of boxes.
        edges: Pairs of boxes; they go from smaller to larger numbers.

    Returns:
        For each box its `row` and its `middle`, and in `passing` the places where its edges pass the rows below it,
        down to the row above the last end; for each row `room`, the width available to each box with its gap. All
        places and widths are fractions of the canvas's width in units of 1 / `WHOLE`. The last plan is also for wider
        canvases. `omitted` is the number of edges that are not drawn because they pass many rows of a large graph.
    """
    plans: list[dict[str, Any]] = []
    # The page chooses the plan that fits its width, so it can be resized without a new layout.
    for abreast in range(1, ABREAST + 1):
        layers = arrange(count, edges, abreast)
        width = (abreast + 0.5) * (BOX + GAP)
        row_of = {node: number for number, row in enumerate(layers.rows) for node in row}
        box_counts = Counter(row_of[node] for node in range(count))
        room = [
            (width - POINT * (len(row) - box_counts[at])) / max(box_counts[at], 1) for at, row in enumerate(layers.rows)
        ]
        widths = [room[row_of[node]] if node < count else POINT for node in range(len(row_of))]
        middle = place_nodes(layers, widths, width)
        below = {upper: lower for upper, lower in layers.steps if lower >= count}
        plans.append(
            {
                "row": [row_of[node] for node in range(count)],
                "middle": [round(WHOLE * x / width) for x in middle[:count]],
                "passing": [[round(WHOLE * middle[at] / width) for at in _chain(below, node)] for node in range(count)],
                "room": [round(WHOLE * width_of_box / width) for width_of_box in room],
                **({"omitted": layers.left_out} if layers.left_out else {}),
            }
        )
        # No row of this graph has so many boxes, so plans for more boxes would be the same.
        if max(box_counts.values(), default=0) < abreast:
            break
    return plans


def _chain(below: Mapping[int, int], node: int) -> Iterator[int]:
    while node in below:
        node = below[node]
        yield node


def list_called(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the names of the computations that an instruction calls, also indirectly, callers first; some repeat."""
    for name in instruction.called:
        yield name
        for inner in module.computation(name):
            yield from list_called(module, inner)
