"""The explorer's reasons are the compiler's decisions, found by the numbers of the instructions that they are about."""

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
    found = attention[target]
    known = {(each.topic, each.verdict, each.sentence, each.words) for each in read_reasons(found).decisions}
    said = describe_reasons(found)["said"]
    assert said
    assert [each for each in said if (each[0], each[1], each[3], each[4]) not in known] == []


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_kernel_is_told_of(attention: Captures, target: str) -> None:
    found = attention[target]
    about = describe_reasons(found)["about"]
    *_, last = follow_passes(found)
    kernels = {launch.scheduled.name for launch in list_kernels(found)}
    numbers = {instruction.name: number for instruction, number in last.numbers.items() if instruction.name in kernels}
    assert numbers
    assert [name for name, number in numbers.items() if str(number) not in about] == []


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_a_kernel_tells_the_reasons_of_all_that_it_fuses(attention: Captures, target: str) -> None:
    found = attention[target]
    about = describe_reasons(found)["about"]
    *_, last = follow_passes(found)
    fused = {
        number: [last.numbers[inner] for called in last.module.called(instruction) for inner in called]
        for instruction, number in last.numbers.items()
        if is_fusion(instruction)
    }
    told = {(number, inner) for number, held in fused.items() for inner in held if str(inner) in about}
    assert told
    assert [pair for pair in told if not {*about[str(pair[1])]} <= {*about[str(pair[0])]}] == []


def test_a_refused_fusion_is_told_of_its_producer_and_leads_to_its_pass(attention: Captures) -> None:
    found = attention["h100"]
    reasons, states = describe_reasons(found), list(follow_passes(found))
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
        held = {instruction.name for instruction, each in states[state - 1].numbers.items() if str(each) == number}
        held |= {instruction.name for instruction, each in states[-1].numbers.items() if str(each) == number}
        assert held


def test_what_was_decided_and_is_explained_is_told_first(attention: Captures) -> None:
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
