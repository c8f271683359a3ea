"""Fusions with their fused instructions, operands and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis.fusions import Fusion, fused_computations, list_fusions
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from conftest import Corpus

pytestmark = pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")

NESTED = """\
HloModule m

%inner (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%a)
}

%outer (b: f32[8]) -> bf16[8] {
  %b = f32[8]{0} parameter(0)
  %s = f32[8]{0} sine(%b)
  %f = f32[8]{0} fusion(%s), kind=kLoop, calls=%inner
  ROOT %c = bf16[8]{0} convert(%f)
}

ENTRY %main (x: f32[8]) -> bf16[8] {
  %x = f32[8]{0} parameter(0)
  %t = (f32[8]{0}) tuple(%x)
  %g = f32[8]{0} get-tuple-element(%t), index=0
  ROOT %o = bf16[8]{0} fusion(%g, %g), kind=kCustom, calls=%outer, \
backend_config={"fusion_backend_config":{"kind":"__triton"}}
}
"""


def test_a_nested_fusion_is_part_of_the_outer_one() -> None:
    module = parse_module(NESTED)
    assert list_fusions(module) == (
        Fusion("o", "kCustom", "__triton", "main", "outer", ("sine", "negate", "convert"), 32, 16),
    )
    assert fused_computations(module) == {"outer", "inner"}


def test_an_asynchronous_fusion_has_the_bytes_of_its_result() -> None:
    text = NESTED.replace(
        "ROOT %o = bf16[8]{0} fusion(", "ROOT %o = ((f32[8]{0}, f32[8]{0}), bf16[8]{0}, s32[]) fusion-start("
    )
    (fusion,) = list_fusions(parse_module(text))
    assert (fusion.kind, fusion.operand_bytes, fusion.result_bytes) == ("kCustom", 32, 16)


@pytest.mark.parametrize(
    ("target", "kinds"),
    [("cpu", {("kCustom", "__ynn_fusion"), ("kLoop", None)}), ("tpu-v5e", {("kOutput", None)})],
)
def test_each_compiler_fuses_a_perceptron_in_its_own_way(
    corpus: Corpus, target: str, kinds: set[tuple[str, str | None]]
) -> None:
    module = parse_module(corpus.find(target, "mlp", "after_optimizations.txt").read_text())
    assert {(fusion.kind, fusion.custom_kind) for fusion in list_fusions(module, entry_only=True)} == kinds


def test_the_gpu_compiler_emits_matrix_products_with_triton(corpus: Corpus) -> None:
    module = parse_module(corpus.find("h100", "mlp", "after_optimizations.txt").read_text())
    products = [fusion for fusion in list_fusions(module) if "dot" in fusion.opcodes]
    assert {fusion.custom_kind for fusion in products} == {"__triton_nested_gemm_fusion"}
