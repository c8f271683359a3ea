"""The explorer's reasons are the compiler's decisions, by the numbers of their instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from programs import attention as program
from xla_inspect import Captures, capture_all
from xla_inspect.analysis import follow_passes, is_fusion, list_kernels
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.report.explorer.data import describe_capture, describe_details
from xla_inspect.report.explorer.reason_data import describe_reasons

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def attention(all_targets: None) -> Captures:  # noqa: ARG001 - it asks for them
    return capture_all(program.attention, *program.EXAMPLE, reasons=True)


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_reason_is_a_decision_of_the_log(attention: Captures, target: str) -> None:
    result = attention[target]
    names = {(item.topic, item.verdict, item.sentence, item.words) for item in read_reasons(result).decisions}
    text = describe_reasons(result)["said"]
    assert text
    assert [item for item in text if (item[0], item[1], item[3], item[4]) not in names] == []


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_kernel_has_a_reason(attention: Captures, target: str) -> None:
    result = attention[target]
    about = describe_reasons(result)["about"]
    *_, last = follow_passes(result)
    kernels = {launch.scheduled.name for launch in list_kernels(result)}
    numbers = {instruction.name: number for instruction, number in last.numbers.items() if instruction.name in kernels}
    assert numbers
    assert [name for name, number in numbers.items() if str(number) not in about] == []


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_a_kernel_has_the_reasons_of_its_fused_instructions(attention: Captures, target: str) -> None:
    result = attention[target]
    about = describe_reasons(result)["about"]
    *_, last = follow_passes(result)
    fused = {
        number: [last.numbers[inner] for callees in last.module.called(instruction) for inner in callees]
        for instruction, number in last.numbers.items()
        if is_fusion(instruction)
    }
    text = {(number, inner) for number, contents in fused.items() for inner in contents if str(inner) in about}
    assert text
    assert [pair for pair in text if not {*about[str(pair[1])]} <= {*about[str(pair[0])]}] == []


def test_a_refused_fusion_belongs_to_its_producer_and_its_pass(attention: Captures) -> None:
    result = attention["h100"]
    reasons, states = describe_reasons(result), list(follow_passes(result))
    refusals = [
        (number, at)
        for number, positions in reasons["about"].items()
        for at in positions
        if reasons["said"][at][:2] == ("fusion", "refused") and reasons["said"][at][5] >= 0
    ]
    assert refusals
    for number, at in refusals:
        *_, name, _, _, state = reasons["said"][at]
        assert states[state].name == name
        contents = {instruction.name for instruction, item in states[state - 1].numbers.items() if str(item) == number}
        contents |= {instruction.name for instruction, item in states[-1].numbers.items() if str(item) == number}
        assert contents


def test_explained_decisions_come_first(attention: Captures) -> None:
    reasons = describe_reasons(attention["h100"])
    for positions in reasons["about"].values():
        decided = [reasons["said"][at][1] in {"done", "refused"} for at in positions]
        assert decided == sorted(decided, reverse=True)


def test_a_capture_without_a_log_has_no_reasons(attention: Captures) -> None:
    silent = replace(attention["cpu"], log=())
    assert describe_reasons(silent) == {"said": [], "about": {}}
    assert describe_capture(silent)["reasons"] is False
    assert describe_details(silent) == {"code": [], "lines": {}, "reasons": {"said": [], "about": {}}}
    assert describe_capture(attention["cpu"])["reasons"] is True
