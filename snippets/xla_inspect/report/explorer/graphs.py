"""The optimized entry computation for the explorer's graph: what does work, the values between, and what is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo.flow import trace_flow
from xla_inspect.hlo.traffic import MAIN, list_traffic, main_memory_bytes
from xla_inspect.report import boxes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo.module import Instruction, Module
    from xla_inspect.hlo.trail import State


def describe_graph(before: Module, last: State) -> dict[str, Any]:
    """Return what `static/graph.js` draws.

    Args:
        before: The module that the compiler got.
        last: The optimized module, with the numbers of its instructions.

    Returns:
        `nodes` in the order of the text; `edges`, pairs of positions among them; `kinds`, what each kind is called;
        `folded`, how many instructions only feed, pack or rename; `traffic`, bytes of main memory `before` and `after`.
        A node has the number of its `instruction`, `name`, `kind`, `head` and the `opcodes` that say what it does,
        what it `reads` from outside and `makes`, whether it `isResult`, the names of the computations it has `called`,
        and the bytes `read` and `written` in main memory and those moved `onChip`.
    """
    module, entry = last.module, last.module.entry
    flow = trace_flow(entry)
    moved = {traffic.name: traffic for traffic in list_traffic(module)}
    nodes = []
    for node, box in zip(flow.nodes, boxes.describe(flow, entry, module), strict=True):
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
        "kinds": boxes.KINDS,
        "folded": len(entry) - len(flow.nodes),
        "traffic": {"before": main_memory_bytes(before), "after": main_memory_bytes(module)},
    }


def list_called(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the names of the computations that an instruction calls, and that these call, callers first."""
    for name in instruction.called:
        yield name
        for inner in module.computation(name):
            yield from list_called(module, inner)
