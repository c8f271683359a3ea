"""Changes of a pass are found independently of names, and summarized in one line."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from cases import TARGETS

from programs import transformer_block_grad as trained
from xla_inspect import capture
from xla_inspect.analysis.changes import ModuleChange, compare_modules
from xla_inspect.analysis.matching import Meanings
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Corpus

BEFORE = """\
HloModule m

%relu (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %zero = f32[] constant(0)
  %zeros = f32[8]{0} broadcast(%zero), dimensions={}
  ROOT %max = f32[8]{0} maximum(%a, %zeros)
}

ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %add.1 = f32[8]{0} add(%x, %y), metadata={op_name="jit(f)/add"}
  %call.2 = f32[8]{0} call(%add.1), to_apply=%relu
  ROOT %sine.3 = f32[8]{0} sine(%call.2)
}
"""
INLINED = """\
HloModule m

ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %add.7 = f32[8]{0} add(%x, %y), metadata={op_name="jit(f)/add"}
  %zero.1 = f32[] constant(0)
  %zeros.1 = f32[8]{0} broadcast(%zero.1), dimensions={}
  %max.1 = f32[8]{0} maximum(%add.7, %zeros.1)
  ROOT %sine.9 = f32[8]{0} sine(%max.1)
}
"""
FUSED = """\
HloModule m, is_scheduled=true

%fused (p: f32[8], q: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %add = f32[8]{0} add(%p, %q)
  %zero = f32[] constant(0)
  %zeros = f32[8]{0} broadcast(%zero), dimensions={}
  %max = f32[8]{0} maximum(%add, %zeros)
  ROOT %sine = f32[8]{0} sine(%max)
}

ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  ROOT %fusion = f32[8]{0} fusion(%x, %y), kind=kLoop, calls=%fused
}
"""


def change(before: str, after: str) -> ModuleChange:
    return compare_modules(parse_module(before), parse_module(after))


def renamed(text: str) -> str:
    for name in ("add.1", "call.2", "sine.3", "relu", "zeros"):
        text = text.replace(f"%{name} ", f"%{name}.clone.17 ").replace(f"%{name})", f"%{name}.clone.17)")
    return text.replace("to_apply=%relu", "to_apply=%relu.clone.17")


def test_a_module_does_not_differ_from_itself() -> None:
    difference = change(BEFORE, BEFORE)
    assert (difference.added, difference.removed, difference.changed) == ((), (), ())
    assert difference.summary == "changed nothing that the text shows"


def test_renumbering_changes_only_names() -> None:
    difference = change(BEFORE, renamed(BEFORE))
    assert (difference.added, difference.removed, difference.computations_added, difference.computations_removed) == (
        (),
        (),
        (),
        (),
    )
    assert difference.aspects() == {"name": 4}
    assert difference.summary == "only names changed (4 instructions)"


def test_instructions_that_swap_names_are_distinguished_by_their_computation() -> None:
    traded = """\
HloModule m

ENTRY %e (x: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %{0} = f32[8]{{0}} multiply(%x, %x)
  %{1} = f32[8]{{0}} multiply(%{0}, %x)
  ROOT %r = f32[8]{{0}} subtract(%{0}, %{1})
}}
"""
    difference = change(traded.format("a", "b"), traded.format("b", "a"))
    assert difference.aspects() == {"name": 2}


def test_inlining_is_named_and_moved_instructions_are_not_counted() -> None:
    difference = change(BEFORE, INLINED)
    assert difference.computations_removed == ("relu",)
    assert difference.opcode_delta == {"call": -1, "parameter": -1}
    assert difference.summary == "inlined 1 call"


def test_a_fusion_counts_its_fused_instructions() -> None:
    difference = change(INLINED, FUSED)
    assert [instruction.name for instruction in difference.added if instruction.computation == "main"] == ["fusion"]
    assert difference.summary == "fused 4 instructions into 1 kLoop fusion; scheduled the module"


@pytest.mark.parametrize(
    ("old", "new", "summary"),
    [
        ("%sine.3 = f32[8]{0} sine(", "%sine.3 = f32[8]{0} cosine(", "removed 1 sine, added 1 cosine"),
        ("add(%x, %y)", "add(%y, %x)", "rewired 1 instruction"),
        ('op_name="jit(f)/add"', 'op_name="jit(f)/sum"', "only metadata changed (1 instruction)"),
        ("%y = f32[8]{0}", "%y = f32[8]{0:T(128)}", "only layouts changed (1 instruction)"),
        ("%y = f32[8]{0}", "%y = f32[8]{0:S(1)}", "only memory spaces changed (1 instruction)"),
        ("%add.1 = f32[8]", "%add.1 = bf16[8]", "changed the element type of 1 instruction from f32 to bf16"),
        ("constant(0)", "constant(1)", "changed attributes of 1 instruction"),
        ("to_apply=%relu", 'to_apply=%relu, backend_config={"a":1}', "only backend configs changed (1 instruction)"),
        ("HloModule m", "HloModule m, num_partitions=8", "only the module's num_partitions changed"),
        ("HloModule m", "HloModule m, is_scheduled=true", "scheduled the module"),
        ("sine(%call.2)", "sine(%call.2), control-predecessors={%x}", "only order constraints changed (1 instruction)"),
    ],
)
def test_a_change_is_summarized_in_one_line(old: str, new: str, summary: str) -> None:
    assert old in BEFORE
    assert change(BEFORE, BEFORE.replace(old, new)).summary == summary


def test_a_change_names_the_instruction_and_the_attribute() -> None:
    (changed_instruction,) = change(
        BEFORE, BEFORE.replace("broadcast(%zero), dimensions={}", "broadcast(%zero), dimensions={0}")
    ).changed
    assert (changed_instruction.before.name, changed_instruction.aspects, changed_instruction.keys) == (
        "zeros",
        ("attributes",),
        ("dimensions",),
    )


CALLS = """HloModule m

%f (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %r = f32[8]{0} FIRST(%a)
}

%g (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %r = f32[8]{0} SECOND(%a)
}

ENTRY %main (x: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %one = f32[8]{0} call(%x), to_apply=%f
  %two = f32[8]{0} call(%x), to_apply=%g
  ROOT %both = (f32[8]{0}, f32[8]{0}) tuple(%one, %two)
}
"""


def test_a_call_with_the_same_text_changes_if_its_callee_changes() -> None:
    before, after = (
        parse_module(CALLS.replace("FIRST", first).replace("SECOND", second))
        for first, second in (("sine", "cosine"), ("cosine", "sine"))
    )
    assert after.entry is before.entry
    unchanged = compare_modules(before, after, Meanings()).kept
    assert unchanged[before.instruction("one")] is after.instruction("two")
    assert unchanged[before.instruction("two")] is after.instruction("one")


def test_sharing_meanings_between_modules_does_not_change_a_comparison() -> None:
    step = capture(trained.transformer_block_grad, *trained.EXAMPLE, target="cpu")
    modules = [step.unoptimized_module, *(pass_run.module for pass_run in step.passes)]
    meanings = Meanings()
    for before, after in itertools.pairwise(modules):
        assert compare_modules(before, after, meanings) == compare_modules(before, after)


def summaries(paths: list[Path]) -> dict[str, list[str]]:
    """Return the summary of each run of each pass, in order, by the pass name in the file name."""
    modules = [parse_module(path.read_text()) for path in paths]
    summaries_by_pass: dict[str, list[str]] = {}
    for path, before, after in zip(paths[1:], modules, modules[1:], strict=False):
        name = path.name.partition(".after_")[2].partition(".before")[0]
        summaries_by_pass.setdefault(name, []).append(compare_modules(before, after).summary)
    return summaries_by_pass


@pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")
@pytest.mark.parametrize(
    ("target", "name", "summary"),
    [
        ("cpu", "call-inliner", "inlined 1 call"),
        ("cpu", "algsimp", "removed 4 reshape and 2 broadcast"),
        ("cpu", "dot-library-rewriter", "fused 2 instructions into 2 kCustom fusions"),
        ("cpu", "fusion", "fused 6 instructions into 2 kLoop fusions"),
        ("tpu-v5e", "dot_canonicalizer", "removed 2 dot, added 2 convolution"),
        ("tpu-v5e", "tpu_fusion", "fused 8 instructions into 1 kOutput fusion"),
        ("tpu-v5e", "bfloat16-propagation", "changed the element type of 2 instructions from f32 to bf16"),
        ("h100", "rename-instructions", "only names changed"),
        ("h100", "rename_fusions", "only names changed"),
    ],
)
def test_the_passes_of_a_perceptron_have_the_expected_summaries(
    corpus: Corpus, target: str, name: str, summary: str
) -> None:
    assert summary in {words.partition(" (")[0] for words in summaries(corpus.passes(target, "mlp"))[name]}


@pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")
@pytest.mark.parametrize("target", TARGETS)
def test_every_pass_of_a_training_step_has_a_short_summary(corpus: Corpus, target: str) -> None:
    pass_summaries = summaries(corpus.passes(target, "block_gradient"))
    lines = [words for runs in pass_summaries.values() for words in runs]
    assert len(lines) > 15
    for words in lines:
        assert "nothing" not in words
        assert len(words) < 240
