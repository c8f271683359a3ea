"""A rewritten operation with its replacement, and the rule if the log names one."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.hlo import parse_module
from xla_inspect.questions.why.explanation import Finding  # noqa: TC001 - what is returned
from xla_inspect.questions.why.finding import WhyFinder

X = jax.ShapeDtypeStruct((64,), jnp.float32)

TEXT = """HloModule m

ENTRY main {
  a = f32[8]{0} parameter(0), metadata={op_name="x"}
  two = f32[] constant(2)
  twos = f32[8]{0} broadcast(two), dimensions={}
  product = f32[8]{0} multiply(a, twos)
  root = f32[8]{0} sqrt(product)
  ROOT sum = f32[8]{0} add(root, product)
}
"""


def back(x: jax.Array) -> jax.Array:
    return x / 7.0


def normalize(x: jax.Array, y: jax.Array) -> jax.Array:
    return x / jnp.sqrt(y)


def explain(function: object, *args: jax.ShapeDtypeStruct) -> Finding:
    finder = WhyFinder(capture(function, *args, reasons=True))  # type: ignore[arg-type]  # a function
    finding: Finding = finder.answer("", str(function.__code__.co_firstlineno + 1)).findings[0]  # type: ignore[attr-defined]
    return finding


def test_a_division_by_a_constant_is_reported_with_its_replacement() -> None:
    finding = explain(back, X)
    assert (finding.kind, finding.pass_name, finding.rule) == ("removed", "algsimp", "")
    assert "rewrote x / 7 as x * 0.142857149, by a rule that its log does not name" in finding.verdict


def test_the_result_of_a_rule_for_other_operands_is_not_called_a_constant() -> None:
    finding = explain(normalize, X, X)
    assert "rewrote x / sqrt(y) as x * rsqrt(y)" in finding.verdict
    assert "constant" not in finding.verdict


def test_an_expression_is_written_two_operations_deep() -> None:
    from xla_inspect.questions.why.why_removed import write_expression

    module = parse_module(TEXT)
    expressions = {name: write_expression(module, module.instruction(name)) for name in ("product", "root", "sum")}
    assert expressions == {"product": "x * 2", "root": "sqrt(x * 2)", "sum": "sqrt(product) + (x * 2)"}
