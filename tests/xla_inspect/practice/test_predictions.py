"""A prediction is requested before its listing, accepts only answers, and never blocks a script."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

import pytest
from screens import Terminal

from xla_inspect import basics, hlo_dump, jaxpr_demo, optimization_compare
from xla_inspect.practice import missed_questions
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.phases import PHASES
from xla_inspect.practice.predictions import NO, YES, Forecast
from xla_inspect.terminal import Paper

if TYPE_CHECKING:
    from collections.abc import Callable


def sit_down(typed: str, monkeypatch: pytest.MonkeyPatch, phase: str = "") -> tuple[Forecast, Terminal]:
    """Return questions with these typed answers, for a phase if one is named, and the screen."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    return Forecast(Paper(screen), PHASES.get(phase)), screen


def test_a_right_answer_is_confirmed_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    forecast, screen = sit_down("7\n", monkeypatch)
    message = forecast.commit("How many?")
    forecast.reveal(message, 7, "so it is.")
    forecast.close()
    assert "7, as you said: so it is." in screen.getvalue()
    assert "You predicted 1 of 1 answer correctly." in screen.getvalue()


def test_a_wrong_answer_is_shown_next_to_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    forecast, screen = sit_down(" 05 \nYES\n", monkeypatch)
    forecast.reveal(forecast.commit("How many?"), 7, "so it is.")
    forecast.reveal(forecast.commit("Is it?", (YES, NO)), NO, "it is not.")
    forecast.close()
    assert "You said 5, and it is 7: so it is." in screen.getvalue()
    assert "You said yes, and the answer is no: it is not." in screen.getvalue()
    assert "You predicted 0 of 2 answers correctly." in screen.getvalue()


@pytest.mark.parametrize("nonsense", ["abc", "-3", "1.5", "²", "7 kernels", "\x1b[A", "x" * 1000])
def test_an_invalid_answer_is_requested_again(nonsense: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forecast, screen = sit_down(f"{nonsense}\nmaybe\n7\n", monkeypatch)
    assert forecast.commit("How many?") == "7"
    assert screen.getvalue().count("Your answer, a whole number") == 3
    assert "\x1b" not in screen.getvalue()


@pytest.mark.parametrize("typed", ["\n", ""])
def test_enter_alone_and_the_end_of_the_input_skip_a_question(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forecast, screen = sit_down(typed, monkeypatch)
    forecast.reveal(forecast.commit("How many?"), 1234, "so it is.")
    forecast.close()
    assert "It is 1,234: so it is." in screen.getvalue()
    assert "You predicted" not in screen.getvalue()


def test_a_session_without_a_user_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdin", Terminal("3\n"))
    assert Forecast(Paper(stream)).commit("How many?", listing="x = 1") == ""
    assert stream.getvalue() == "Predict first: How many?\n\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n"))
    assert Forecast(Paper(Terminal())).commit("How many?") == ""


def answer(typed: str, phase: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the output after the first question of phase 1 is asked in a phase with these answers."""
    forecast, screen = sit_down(typed, monkeypatch, phase)
    if phase == "basics":
        forecast.reveal(forecast.commit("How often?"), 2, "so it is.", "traces")
    forecast.close()
    return " ".join(screen.getvalue().split())


def test_a_missed_question_is_repeated_later_with_another_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "Missed questions again" not in answer("3\n", "basics", monkeypatch)
    assert Logbook().missed == ["basics/traces"]
    later = answer("3\n", "jaxpr", monkeypatch)
    assert "Missed questions again" in later
    assert f"You missed this question in phase 1, {PHASES['basics'].title}. Here it is for another program." in later
    assert later.index("twice(jnp.ones((1, 3)))") < later.index("Your answer") < later.index(">>> def g(x)")
    assert "3, as you said: each shape and each element type" in later
    assert Logbook().missed == []
    assert answer("", "hlo", monkeypatch) == ""


def test_a_repeated_question_is_not_asked_a_third_time(monkeypatch: pytest.MonkeyPatch) -> None:
    answer("3\n", "basics", monkeypatch)
    assert "You said 4, and it is 3" in answer("4\n", "hlo", monkeypatch)
    assert Logbook().missed == []


def test_a_repeat_that_is_skipped_stays_for_the_next_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    answer("3\n", "basics", monkeypatch)
    assert ">>> def g(x)" not in answer("\n", "jaxpr", monkeypatch)
    assert Logbook().missed == ["basics/traces"]


@pytest.mark.parametrize("typed", ["2\n", "\n"])
def test_a_right_or_skipped_question_is_not_repeated(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(typed, "basics", monkeypatch)
    assert Logbook().missed == []


def test_a_session_without_a_user_stores_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Logbook().note_prediction("basics/traces", missed=True)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdin", Terminal("3\n"))
    forecast = Forecast(Paper(stream), PHASES["hlo"])
    forecast.reveal("3", 4, "so it is.", "kernels")
    before = stream.getvalue()
    forecast.close()
    assert stream.getvalue().removeprefix(before) == "You predicted 0 of 1 answer correctly.\n\n"
    assert Logbook().missed == ["basics/traces"]


LISTED = {
    "basics": (basics.main, [], ["tracing f for", "dot sees"]),
    "jaxpr": (jaxpr_demo.main, [], ["{ lambda ; a:f32[64,128]", "b:f32[4] = mul"]),
    "hlo": (hlo_dump.main, [], ["ROOT %", "inside "]),
    "optimization": (
        optimization_compare.main,
        [],
        ["The compiler's decisions", "def center", "def gated", "The answers"],
    ),
    "transforms": (jaxpr_demo.main, ["--phase", "5"], ["grad(loss)  added", "gradient, in launch order", "5.4 vmap"]),
}


@pytest.mark.parametrize("phase", LISTED)
def test_a_listing_is_held_back_until_its_question_is_answered(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the keyboard is read, the listing that answers the question is not on the screen yet."""
    main, arguments, listings = LISTED[phase]
    shown_texts: list[str] = []
    screen = Terminal()

    class Keyboard(Terminal):
        def readline(self, size: int | None = -1, /) -> str:
            assert size == -1
            shown_texts.append(screen.getvalue())
            return "1\n" if "yes or no" not in shown_texts[-1].splitlines()[-1] else "yes\n"

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdin", Keyboard())
    monkeypatch.setattr(sys, "stdout", screen)
    run: Callable[[list[str]], int] = main  # type: ignore[assignment]  # each takes a list
    assert run(arguments) == 0
    words = [" ".join(output.split()) for output in [*shown_texts, screen.getvalue()]]
    assert len(shown_texts) >= 2
    questions = words[-1].count("Your answer, ")
    assert questions == len(shown_texts)
    total = questions if phase != "optimization" else 1
    assert re.search(rf"You predicted \d of {total} answers? correctly", words[-1])
    assert all(name in missed_questions.QUESTIONS for name in Logbook().missed)
    assert len(Logbook().missed) == questions - (
        int(re.findall(r"(\d) of 3 predictions were right", words[-1])[0])
        if phase == "optimization"
        else words[-1].count(", as you said")
    )
    for question, listing in zip(words, listings, strict=False):
        after = words[words.index(question) + 1]
        assert after[len(question) :].count(" ".join(listing.split())) > 0, listing
