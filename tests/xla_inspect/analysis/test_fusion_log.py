"""The fusion log: fused instructions, estimated costs and refused fusions."""

from __future__ import annotations

import pytest

from programs import fusible
from xla_inspect import capture
from xla_inspect.analysis.fusion_log import Estimate, FusionLog, Merge, Refusal, parse_log
from xla_inspect.errors import HloSyntaxError


def test_each_kind_of_step_is_read() -> None:
    lines = (
        "fused mul.1 into add.1 as fusion",
        "mul.1 into add.1: 1.5 us fused, 2e+00 us apart",
        "exp.1 into reduce.1, reduce.2: -0.5 us fused, -1.25 us apart",
        "dot.1 stays: the producer is not fusible",
        "dot.1 not into add.1: too large: by far",
    )
    assert parse_log(lines) == FusionLog(
        (Merge("mul.1", "add.1", "fusion"),),
        (Estimate("mul.1", ("add.1",), 1.5, 2.0), Estimate("exp.1", ("reduce.1", "reduce.2"), -0.5, -1.25)),
        (Refusal("dot.1", None, "the producer is not fusible"), Refusal("dot.1", "add.1", "too large: by far")),
    )


def test_the_gain_of_a_fusion_is_its_saved_time() -> None:
    log = parse_log(["a into b: 1.5 us fused, 2 us apart", "c into d: 2 us fused, 0.5 us apart"])
    assert [estimate.gain for estimate in log.estimates] == [0.5, -1.5]


def test_each_reason_is_listed_once() -> None:
    log = parse_log(["a stays: r", "a stays: r", "b stays: s", "a not into c: q"])
    assert (log.refused("a"), log.reasons) == (("r", "q"), ("q", "r", "s"))


def test_an_unexpected_line_raises_an_error_that_quotes_it() -> None:
    with pytest.raises(HloSyntaxError, match=r"line 2.*'a was seen'"):
        parse_log(["a stays: r", "a was seen"])


@pytest.mark.parametrize("name", ["scale and sum columns", "(x - mean) / std", "concatenate"])
def test_every_line_of_a_real_log_is_read_as_a_step(name: str) -> None:
    function, example = fusible.PROGRAMS[name]
    lines = capture(function, *example, target="h100").fusion_log
    log = parse_log(lines)
    assert len(log.merges) + len(log.estimates) + len(log.refusals) == len(lines)
    assert {merge.producer for merge in log.merges} & {estimate.producer for estimate in log.estimates} != set()
