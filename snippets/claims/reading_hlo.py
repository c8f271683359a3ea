"""Checks of common claims, true or false, about printing, parsing and reading HLO text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import jax
from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

from claims.evidence import expect, names_in, program
from claims.finding import Finding, by_target, cases, only
from claims.sharding import annotated
from programs import gelu, layer
from xla_inspect.analysis import list_fusions
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from xla_inspect import Capture

MATMULS = {"dot", "convolution"}


def parser_error(text: str) -> str:
    """Return the error of XLA's parser for the text of a module, in one line, or an empty string."""
    try:
        _hlo.hlo_module_from_text(text)
    except Exception as error:  # noqa: BLE001 - the parser raises jaxlib's own class
        # The parser also quotes the text around the error, so only lines with a message are used.
        lines = [line.split("error: ")[-1] for line in str(error).splitlines() if "error: " in line]
        return (lines or str(error).splitlines())[0].partition(". ")[0].rstrip(":")
    return ""


@cache
def _lowered() -> jax.stages.Lowered:
    return jax.jit(gelu.gelu).lower(*gelu.EXAMPLE)


@cache
def _compiled() -> jax.stages.Compiled:
    return jax.jit(layer.layer).lower(*layer.EXAMPLE).compile()


def nested_operands() -> Finding:
    """Return the finding on the claim that an instruction may be written in place of an operand."""
    module = """HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)
  y = f32[8,4] parameter(1)
  d = f32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[4,4] maximum(d, broadcast(constant(0)))
}"""
    typed = module.replace("broadcast(constant(0))", "f32[4,4] broadcast(f32[] constant(0))")
    error = parser_error(module)
    expect(not parser_error(typed), "with explicit types, the parser accepts the nested operands")
    return only(not error, f"the parser reports: {error}")


def broadcast_without_dimensions() -> Finding:
    """Return the finding on the claim that the dimensions of a broadcast scalar may be omitted."""
    text = "HloModule m\nENTRY e {\n  z = f32[] constant(0)\n  ROOT r = f32[4] broadcast(z)\n}"
    error = parser_error(text)
    text_again = "" if error else _hlo.hlo_module_from_text(text).to_string()
    return only(
        not error and "dimensions={}" in text_again, error or "the parser accepts it and prints `dimensions={}`"
    )


def as_text_is_hlo() -> Finding:
    """Return the finding on the claim that `lower(...).as_text()` is HLO."""
    text, hlo = _lowered().as_text(), _lowered().as_text("hlo")
    expect(not parser_error(hlo) and "is_scheduled" not in hlo, 'as_text("hlo") is HLO, and nothing has been compiled')
    finding = only(not parser_error(text), f"it begins with `{text.split('{')[0].split('attributes')[0].strip()}`")
    dialect = names_in(text).total()
    return finding.compared("StableHLO operations in the text", 0, {"GELU": dialect})


def as_text_takes_stablehlo() -> Finding:
    """Return the finding on the claim that `as_text("stablehlo")` is StableHLO."""
    text = _lowered().as_text("stablehlo")
    return only(text == _lowered().as_text() and "stablehlo." in text, "it is the same text as that of `as_text()`")


def compiled_text_is_optimized() -> Finding:
    """Return the finding on the claim that `lower(...).compile().as_text()` is optimized, fused HLO."""
    text = _compiled().as_text() or ""
    good = text.startswith("HloModule") and "is_scheduled=true" in text and " fusion(" in text
    fusions = plural(text.count(" fusion("), "fusion")
    return only(good, f"it begins with `{text.partition(',')[0]}`, is scheduled, and contains {fusions}")


def frontends_emit_hlo() -> Finding:
    """Return the finding on the claim that JAX passes HLO to XLA."""
    ir = str(_lowered().compiler_ir())
    expect("chlo." in ir and "sdy." in annotated(), "JAX's output contains CHLO and Shardy's dialect")
    return only("stablehlo." not in ir and not parser_error(ir), "JAX passes StableHLO, which XLA imports")


def as_text_hlo_is_the_input() -> Finding:
    """Return the finding on the claim that the compiler receives the text of `as_text("hlo")`."""
    from programs import disputed

    function, example = disputed.PROGRAMS["acos"]
    traced = jax.jit(function).trace(*example)
    platforms = {"cpu": "cpu", "h100": "cuda", "tpu-v5e": "tpu"}

    def look(capture: Capture) -> tuple[bool, str]:
        text = traced.lower(lowering_platforms=(platforms[capture.target],)).as_text("hlo")
        # The blank and the parenthesis exclude names of instructions, which may contain the opcode.
        in_text, in_input = text.count(" acos("), capture.before.count(" acos(")
        return (
            in_text == in_input,
            f"`acos` appears {plural(in_text, 'time')} in the text, {plural(in_input, 'time')} in the compiler's input",
        )

    return by_target(program("disputed", "acos"), look)


def one_body() -> Finding:
    """Return the finding on the claim that one fused computation contains the matmul, the addition and the maximum."""

    def look(capture: Capture) -> tuple[bool, str]:
        bodies = [set(fusion.opcodes) for fusion in list_fusions(capture.module)]
        whole = [body for body in bodies if body & MATMULS and {"add", "maximum"} <= body]
        names = [sorted(body & (MATMULS | {"add", "maximum"})) for body in bodies]
        expect(not whole or "convolution" in whole[0], "if one body contains all of them, its matmul is a convolution")
        return bool(whole), f"bodies that contain {', '.join('`' + ' '.join(body) + '`' for body in names if body)}"

    return by_target(program("layer"), look)


def kinds_classify_operations() -> Finding:
    """Return the finding on the claim that any operation can have the kind `kLoop`, `kInput` or `kOutput`."""
    text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] negate(x), kind=kLoop\n}"
    error = parser_error(text)
    kinds = [kind for kind in ("kLoop", "kInput", "kOutput", "kCustom", "kTransposeDot") if not _fusion_error(kind)]
    return only(not error, f"the parser reports: {error}; the kinds of a fusion are `{'`, `'.join(kinds)}`")


def _fusion_error(kind: str) -> str:
    return parser_error(f"""HloModule m
c {{
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}}
ENTRY e {{
  x = f32[4] parameter(0)
  ROOT f = f32[4] fusion(x), kind={kind}, calls=c
}}""")


def boundaries_marked() -> Finding:
    """Return the finding on the claim that the text, and implicitly a cost analysis, show the fusions."""

    def look(capture: Capture) -> tuple[bool, str]:
        number = len(list_fusions(capture.module))
        return number > 0, plural(number, "`fusion` instruction")

    cost = _compiled().cost_analysis() or {}
    properties = [key for key in cost if "fusion" in key.lower()]
    return by_target(program("layer"), look).but(
        bool(properties), f"none of the {len(cost)} properties in `cost_analysis()` mentions fusion"
    )


def cost_analysis_is_a_list() -> Finding:
    """Return the finding on the claim that `cost_analysis()[0]` contains the flops."""
    cost: object = _compiled().cost_analysis()
    good = isinstance(cost, list) and "flops" in cost[0]
    return only(good, f"`cost_analysis()` returns a `{type(cost).__name__}`")


def xla_computation() -> Finding:
    """Return the finding on the claim that `jax.xla_computation` returns the HLO of a function."""
    exists = hasattr(jax, "xla_computation")
    return only(exists, "it exists" if exists else "`jax` has no attribute `xla_computation`")


def is_interchangeable() -> Finding:
    """Return the finding on the claim that a jaxpr is a kind of HLO: the same operations, read by the same tools."""
    one = program("layer")["cpu"]
    error = parser_error(one.jaxpr)
    return cases(
        {"": ("dot_general" in one.jaxpr and "dot" in one.before, "both list the same operations in order")}
    ).but(not error, "the HLO parser rejects a jaxpr")
