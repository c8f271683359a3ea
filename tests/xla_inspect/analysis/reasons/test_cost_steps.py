"""The steps of the GPU's fusion cost model are placed in the log at their pass, each fusion once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import layer
from xla_inspect import capture
from xla_inspect.analysis.reasons.cost_steps import SOURCE, weave_log
from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from xla_inspect import Capture


def say(text: str, *, run: int = 2, source: str = "priority_fusion") -> LogEvent:
    return LogEvent(run, "fusion", "priority-fusion", "jit_f", source, 1552, text)


FUSING = say("Fusing %a = f32[8]{0} exponential(%x) into %b = f32[8]{0} add(%a, %a)")
OTHER = say("Fusing %c = f32[8]{0} negate(%x) into %d = f32[8]{0} add(%c, %c)", run=1)
LATER = say("Trying", run=5, source="copy_insertion")


def told(*steps: str, log: tuple[LogEvent, ...] = (OTHER, FUSING, LATER)) -> Capture:
    return capture(layer.layer, *layer.EXAMPLE).retold(log=log, fusion_log=steps)


def test_cost_steps_follow_the_messages_of_the_pass_run_that_took_them() -> None:
    woven = weave_log(told("fused a into b as b", "e stays: the producer is not fusible"))
    assert [(event.run, event.source) for event in woven] == [
        (1, "priority_fusion"),
        (2, "priority_fusion"),
        (2, SOURCE),
        (5, "copy_insertion"),
    ]
    assert (woven[2].name, woven[2].module, woven[2].text) == (
        "priority-fusion",
        "jit_f",
        "e stays: the producer is not fusible",
    )


def test_cost_steps_follow_the_pass_run_even_if_no_step_was_taken() -> None:
    for spoken in (FUSING, FUSING.__class__(2, "p", "priority-fusion", "jit_f", "instruction_fusion", 1, "Trying")):
        after = LATER.__class__(5, "p", "copy-insertion", "jit_f", "copy_insertion", 1, "Trying")
        woven = weave_log(told("e into f: 2 us fused, 1 us apart", log=(spoken, after)))
        assert [(event.run, event.name) for event in woven] == [
            (2, "priority-fusion"),
            (2, "priority-fusion"),
            (5, "copy-insertion"),
        ]


def test_a_fusion_is_reported_once_even_if_the_pass_did_not_report_it() -> None:
    woven = weave_log(told("fused a into b as b", "fused e into f as fusion"))
    assert [event.text for event in woven if event.source == SOURCE] == ["fused e into f as fusion"]


def test_estimates_end_with_whether_fusing_saves_time_costs_some_or_was_done_all_the_same() -> None:
    steps = (
        "fused a into b as b",
        "a into b: 2 us fused, 1 us apart",
        "e into f: 1 us fused, 2 us apart",
        "e into f, g: 2 us fused, 1 us apart",
    )
    ends = [event.text.partition("; ")[2] for event in weave_log(told(*steps)) if event.source == SOURCE]
    assert ends == ["costs, yet made", "saves", "costs"]


def test_a_step_taken_twice_is_reported_once() -> None:
    woven = weave_log(told("e stays: no", "e stays: no"))
    assert [event.text for event in woven if event.source == SOURCE] == ["e stays: no"]


def test_cost_steps_need_a_log_and_a_log_without_steps_is_unchanged() -> None:
    assert weave_log(told("fused a into b as b", log=())) == ()
    assert weave_log(told()) == (OTHER, FUSING, LATER)
