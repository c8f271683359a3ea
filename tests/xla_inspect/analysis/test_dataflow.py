"""Dataflow through tuples and bitcasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cases import TARGETS

from xla_inspect.analysis.dataflow import Flow, trace_flow
from xla_inspect.hlo import IDLE, parse_module
from xla_inspect.report import draw_computation

if TYPE_CHECKING:
    from conftest import Corpus

ENDS = ("-done", "-update")
MODULE = parse_module("""HloModule m

ENTRY %e (p: (f32[4], f32[2,2])) -> (f32[4], f32[2,2]) {
  %p = (f32[4]{0}, f32[2,2]{1,0}) parameter(0)
  %first = f32[4]{0} get-tuple-element(%p), index=0
  %flat = f32[2,2]{1,0} bitcast(%first)
  %start = (f32[2,2]{1,0}, f32[2,2]{1,0}, u32[]) copy-start(%flat)
  %done = f32[2,2]{1,0} copy-done(%start)
  %pair = (f32[2,2]{1,0}, f32[2,2]{1,0}) custom-call(%done, %done), custom_call_target="two"
  %second = f32[2,2]{1,0} get-tuple-element(%pair), index=1
  %sum = f32[2,2]{1,0} add(%second, %done)
  ROOT %t = (f32[4]{0}, f32[2,2]{1,0}) tuple(%first, %sum)
}
""")


def short(flow: Flow) -> tuple[str, tuple[int, ...], str, str | None]:
    return flow.source, flow.index, flow.shape.plain, flow.user


def test_each_edge_from_a_producer_to_a_user_occurs_once() -> None:
    graph = trace_flow(MODULE.entry)
    assert [short(edge) for edge in graph.edges] == [
        ("start", (), "f32[2,2]", "pair"),
        ("pair", (1,), "f32[2,2]", "sum"),
        ("start", (), "f32[2,2]", "sum"),
    ]
    # An input is followed to the element that is read, and a parameter that is returned is no result of the work.
    assert [short(edge_input) for edge_input in graph.inputs] == [("p", (0,), "f32[4]", "start")]
    assert [short(result) for result in graph.results] == [("sum", (), "f32[2,2]", None)]


@pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")
@pytest.mark.parametrize("target", TARGETS)
def test_the_dataflow_of_every_computation_of_the_corpus_is_drawn(corpus: Corpus, target: str) -> None:
    """The optimized module of every program: loops, branches, collectives, tuples in tuples."""
    graphs = 0
    for path in corpus.texts(target):
        if not path.name.endswith(("after_optimizations.txt", "before_optimizations.txt")):
            continue
        module = parse_module(path.read_text())
        for computation in module.computations:
            flow = trace_flow(computation)
            work = [instruction for instruction in computation if instruction.opcode not in IDLE]
            node_names = {node.name for node in flow.nodes}
            assert [node for node in work if node.name not in node_names and not node.opcode.endswith(ENDS)] == []
            assert {edge.source for edge in flow.edges} | {edge.user for edge in flow.edges} <= node_names
        html = draw_computation(module.entry, module)
        graphs += html.startswith('<figure class="graph"')
    assert graphs > 20
