"""What TensorFlow really runs: the operations of one call, from its profiler and from the graphs it hands out."""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.tsl.profiler.protobuf import xplane_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EAGER = re.compile(r"EagerLocalExecute: (?!__inference)(.+)")
NODE = re.compile(r"([\w/.]+):([A-Za-z_]\w*)$")
NUMBERED = re.compile(r"(__inference_\w+?)_\d+$")
PLUMBING = frozenset({"_Arg", "_DeviceArg", "_Retval", "Placeholder", "Const", "NoOp"})
"""Operations that compute nothing: a function's arguments and results, and its constants."""


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Attributes:
        operations: What TensorFlow's executor ran, by operation, constants and arguments left out.
        launches: What ran inside XLA's executables, by instruction.
    """

    operations: list[str]
    launches: list[str]

    def facts(self) -> dict[str, list[str]]:
        """Return it as a record holds it."""
        return asdict(self)


def watch(function: Callable[..., Any], arguments: list[Any], order: list[str] | None = None) -> Call:
    """Call a function that was called before, and return what ran.

    Args:
        function: The function.
        arguments: Its arguments.
        order: Names of nodes as their graph orders them: threads may end in another order each time. Without it the
            function is taken to be one that runs eagerly.
    """
    seen = list(_profile(lambda: function(*arguments)))
    launches = [name for name, inside in seen if inside]
    if order is None:
        return Call([found[1] for name, _ in seen if (found := EAGER.match(name))], launches)
    matches = (NODE.match(name) for name, inside in seen if not inside)
    nodes = {found[1]: found[2] for found in matches if found}
    rank = {node: place for place, node in enumerate(order)}
    operations = [nodes[node] for node in sorted(nodes, key=lambda node: (rank.get(node, len(rank)), node))]
    return Call([_without_number(each) for each in operations if each not in PLUMBING], launches)


def _without_number(operation: str) -> str:
    """Return the name of a function as its author knows it: TensorFlow counts the functions of a process."""
    return NUMBERED.sub(r"\1", operation)


def _profile(call: Callable[[], Any]) -> Iterator[tuple[str, bool]]:
    """Yield each event of a call in the order of their beginnings, and whether it is an instruction of XLA's."""
    options = tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=2, python_tracer_level=0, device_tracer_level=0
    )
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder, options)
        try:
            call()
        finally:
            tf.profiler.experimental.stop()
        (file,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(file.read_bytes())
    events = []
    for plane in space.planes:
        instruction = {number for number, stat in plane.stat_metadata.items() if stat.name == "hlo_op"}
        events += [
            (
                line.timestamp_ns * 1000 + event.offset_ps,
                plane.event_metadata[event.metadata_id].name,
                any(stat.metadata_id in instruction for stat in event.stats),
            )
            for line in plane.lines
            for event in line.events
        ]
    for _, name, inside in sorted(events):
        yield name, inside


def graphs(function: Callable[..., Any], arguments: list[Any]) -> tuple[list[Any], list[Any]]:
    """Call a function for the first time; return the nodes left after Grappler, and those the executor is given.

    The second are in an order in which they could run.
    """
    context.enable_run_metadata()
    function(*arguments)
    found = context.export_run_metadata().function_graphs
    context.disable_run_metadata()
    whole = found[-1]
    optimized = list(whole.post_optimization_graph.node)
    placed = [node for graph in whole.partition_graphs for node in graph.node]
    return optimized, _in_order(placed)


def _in_order(nodes: list[Any]) -> list[Any]:
    by_name = {node.name: node for node in nodes}
    needs = {
        node.name: sorted(needed for needed in (_node_of(each) for each in node.input) if needed in by_name)
        for node in sorted(nodes, key=lambda node: str(node.name))
    }
    return [by_name[name] for name in TopologicalSorter(needs).static_order()]


def _node_of(operand: str) -> str:
    return operand.lstrip("^").partition(":")[0]


def computing(nodes: list[Any]) -> list[str]:
    """Return the operations of nodes, without those that compute nothing."""
    return [str(node.op) for node in nodes if node.op not in PLUMBING]
