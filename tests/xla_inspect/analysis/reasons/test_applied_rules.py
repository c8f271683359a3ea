"""The rule that rewrote an instruction: the last one tried, if it gives the observed result."""

from __future__ import annotations

import pytest

from programs import layer
from xla_inspect import capture
from xla_inspect.analysis.reasons import AppliedRule, find_rules, read_reasons
from xla_inspect.captured import LogEvent

TRIED, REPLACED = "algebraic_simplifier", "dfs_hlo_visitor_with_default"


def find(*messages: tuple[str, str]) -> list[AppliedRule]:
    """Return the rules that texts of the log show as applied, each text with its source file."""
    log = tuple(LogEvent(3, "p", "algsimp", "jit_f", source, 1, text) for source, text in messages)
    return list(find_rules(read_reasons(capture(layer.layer, *layer.EXAMPLE).retold(log=log)).decisions))


def attempt(rule: str, instruction: str) -> tuple[str, str]:
    return TRIED, f"trying transform {rule}: %{instruction} = f32[] add(%p, %q)"


def replace(old: str, new: str) -> tuple[str, str]:
    return REPLACED, f"Replacing instruction:\n  old: {old}\n  new: {new}"


ADD = "%add.1 = f32[8]{0} add(%p, %c)"
PARAMETER = "%p = f32[8]{0} parameter(0)"


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("[A + 0 => A]", ADD, PARAMETER),
        (
            "[A - Const => A + (-Const)]",
            "%sub.1 = f32[8]{0} subtract(%p, %c)",
            "%add = f32[8]{0} add(%p, %negate)",
        ),
        (
            "[(A * C1) * C2 => A * (C1 * C2)]",
            "%m = f32[8]{0} multiply(%n, %c)",
            "%multiply = f32[8]{0} multiply(%p, %d)",
        ),
        ("[sqrt(A*A) => |A|]", "%s = f32[8]{0} sqrt(%m)", "%abs = f32[8]{0} abs(%p)"),
        ("[rsqrt(x) * rsqrt(x) => 1/x], for x >= 0", "%m = f32[] multiply(%r, %r)", "%divide = f32[] divide(%o, %x)"),
    ],
)
def test_the_last_rule_tried_is_the_rule_that_made_the_result(rule: str, old: str, new: str) -> None:
    name = old.partition(" ")[0].removeprefix("%")
    (applied,) = find(attempt("[0 + A => A]", name), attempt(rule, name), replace(old, new))
    assert applied.rule == rule
    assert (applied.decision.instruction, applied.decision.verdict) == (name, "done")
    assert rule in applied.sentence


@pytest.mark.parametrize(
    ("rule", "old", "new", "kind"),
    [
        (
            "[1*RHS => RHS]",
            "%mul.3 = f32[8]{0} multiply(%x.1, %mul.2)",
            "%mul.2 = f32[8]{0} broadcast(%zero), dimensions={}",
            "replaced-by-operand",
        ),
        # Divided by one it was not: the rule that divides by a constant has no name in the log.
        (
            "[A/1 => A]",
            "%div.2 = f32[] divide(%p, %c)",
            "%multiply = f32[] multiply(%p, %constant.3)",
            "division-as-multiplication",
        ),
        ("[A + 0 => A]", ADD, "%multiply = f32[8]{0} multiply(%p, %two)", "replaced"),
        (
            "[A - Const => A + (-Const)]",
            "%s = f32[] subtract(%p, %p)",
            "%constant.1 = f32[] constant(0)",
            "computed-by-compiler",
        ),
    ],
)
def test_a_rule_with_another_result_is_not_given_as_the_reason(rule: str, old: str, new: str, kind: str) -> None:
    name = old.partition(" ")[0].removeprefix("%")
    (applied,) = find(attempt(rule, name), replace(old, new))
    assert (applied.rule, applied.decision.kind) == ("", kind)
    assert applied.sentence == applied.decision.sentence


def test_rules_tried_on_other_instructions_are_ignored() -> None:
    (applied,) = find(attempt("[A + 0 => A]", "add.2"), replace(ADD, PARAMETER))
    assert applied.rule == ""


def test_rules_tried_without_a_name_belong_to_the_last_named_instruction() -> None:
    (applied,) = find(
        attempt("[A + 0 => A]", "add.1"),
        (TRIED, "trying transform [Const + A => A + Const]"),
        replace(ADD, "%add = f32[8]{0} add(%c, %p)"),
    )
    assert applied.rule == "[Const + A => A + Const]"
