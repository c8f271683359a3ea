"""Every dump of the corpus is read in agreement with the compiler's own protos."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cases import TARGETS
from oracle import compare
from protos import hlo_proto

from xla_inspect.analysis import find_peak, live_bytes, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.hlo.parser import parse_module
from xla_inspect.hlo.tuple_elements import spell_out

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Corpus

    from xla_inspect.hlo.module import Module

pytestmark = pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")

for_each_target = pytest.mark.parametrize("target", TARGETS)


def proto_of(path: Path) -> object | None:
    """Return the compiler's proto of the module in a text file, or None if no proto was stored with it."""
    alone, whole = path.with_suffix(".module.pb"), path.with_suffix(".hlo.pb")
    if alone.exists():
        return type(hlo_proto()().hlo_module).FromString(alone.read_bytes())
    return hlo_proto().FromString(whole.read_bytes()).hlo_module if whole.exists() else None


@for_each_target
def test_every_dump_is_read_as_the_compilers_own_proto_has_it(corpus: Corpus, target: str) -> None:
    differences: list[str] = []
    texts = compared = instructions = 0
    for path in corpus.texts(target):
        module = parse_module(path.read_text())
        texts += 1
        if (proto := proto_of(path)) is not None:
            differences += [f"{path.parent.name}/{path.name}: {difference}" for difference in compare(module, proto)]
            compared += 1
            instructions += module.instruction_count()
    assert differences[:10] == []
    # A corpus that shrank, or dumps that stopped appearing, would let everything pass.
    assert (texts > 500, compared > 500, instructions > 50_000) == (True, True, True)


@for_each_target
def test_the_corpus_covers_the_forms_that_are_hard_to_read(corpus: Corpus, target: str) -> None:
    features: set[str] = set()
    for path in corpus.texts(target):
        text = path.read_text()
        features |= {*hard_things(parse_module(text)), *(["compact"] if spell_out(text) != text else [])}
    everywhere = {"compact", "tuple shape", "bare names", "custom-call", "control predecessors", "frames", "schedule"}
    only = {"cpu": set(), "h100": {"shortened async", "triton"}, "tpu-v5e": {"tiles", "memory space", "packed"}}
    assert features >= everywhere | only[target]


def hard_things(module: Module) -> list[str]:
    """Return the forms in a module that are easy to misread."""
    features = ["schedule"] if module.is_scheduled else []
    features += ["frames"] if module.frames() else []
    features += ["bare names"] if not any("%" in i.attribute_text for i in module.walk()) else []
    for instruction in module.walk():
        features += ["shortened async"] if instruction.wrapped else []
        features += ["tuple shape"] if instruction.shape.is_tuple else []
        features += ["custom-call"] if instruction.opcode == "custom-call" else []
        features += ["control predecessors"] if instruction.control_predecessors else []
        features += ["triton"] if "__triton" in (instruction.backend_config or "") else []
        for layout in (leaf.layout for leaf in instruction.shape.leaves() if leaf.layout):
            features += ["tiles"] if layout.tiles else []
            features += ["memory space"] if layout.memory_space else []
            features += ["packed"] if layout.element_bits else []
    return features


@for_each_target
def test_every_memory_plan_is_read_and_adds_up(corpus: Corpus, target: str) -> None:
    folder = corpus.wait(target)
    plans = sorted(folder.glob("*/*-buffer-assignment.txt"))
    for path in plans:
        assignment = parse_buffers(path.read_text())
        live = parse_live_ranges(path.with_name(path.name.replace("buffer-assignment", "live-range")).read_text())
        module = parse_module(path.with_name(path.name.replace("-buffer-assignment", "")).read_text())
        placements = place_buffers(assignment, live)

        assert {value.instruction for _, value in assignment.values()} <= {i.name for i in module.walk()}
        assert set(live.by_value) <= {(row.instruction, row.index) for row in placements}
        assert sum(assignment.bytes_by_kind().values()) == sum(assignment.bytes_by_color().values()) == assignment.total
        for allocation, value in assignment.values():
            assert 0 <= value.offset <= value.offset + value.size <= allocation.size
        peak_names = {(name, index) for name, index, _ in live.peak_values}
        at_peak = [row for row in placements if (row.instruction, row.index) in peak_names and row.start is not None]
        # A TPU pads buffers to tiles; the peak that the compiler prints leaves the padding out.
        total = sum(row.size for row in at_peak)
        assert (total >= live.peak) if target == "tpu-v5e" else (total == live.peak)
        # Of those that share memory the printed peak counts each.
        here = live_bytes(placements, live.end)[live.peak_position]
        assert here <= total
        assert here <= find_peak(placements)[1] <= assignment.total
    assert len(plans) >= 38


@for_each_target
def test_arrays_have_the_size_that_their_shape_implies(corpus: Corpus, target: str) -> None:
    off = total = 0
    for path in corpus.wait(target).glob("*/*-buffer-assignment.txt"):
        for _, value in parse_buffers(path.read_text()).values():
            if value.shape.is_array:
                total += 1
                off += value.size != value.shape.padded_bytes
    # A TPU gives the few scalars that every core reads a page of their own.
    assert total > 500
    assert off <= (3 if target == "tpu-v5e" else 0)


@for_each_target
def test_called_computations_and_users_agree_with_the_operands(corpus: Corpus, target: str) -> None:
    module = parse_module(corpus.find(target, "scan", "after_optimizations.txt").read_text())
    loop = next(instruction for instruction in module.entry if instruction.opcode == "while")
    assert {computation.name for computation in module.called(loop)} == {
        *loop.calls["condition"],
        *loop.calls["body"],
    }
    for instruction in module.walk():
        for operand in module.operands(instruction):
            assert instruction in module.users(operand)
