"""The phases match their announcement."""

from __future__ import annotations

from xla_inspect.practice.phases import CHECKED, PHASES


def test_five_phases_in_order_with_their_minutes() -> None:
    assert [(phase.number, phase.minutes) for phase in PHASES.values()] == [(1, 15), (2, 20), (3, 25), (4, 20), (5, 15)]
    assert [phase.name for phase in PHASES.values()] == list(PHASES)
    assert (*PHASES, "puzzles", "capstone") == CHECKED


def test_each_phase_asks_a_question_and_says_where_to_read_on() -> None:
    for phase in PHASES.values():
        assert phase.question.endswith("?")
        assert len(phase.references) >= 3
        assert all(address.startswith("https://") for address in phase.references.values())
