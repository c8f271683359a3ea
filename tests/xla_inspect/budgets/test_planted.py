"""Each planted mistake breaks its assertion, and the failure describes the mistake."""

from __future__ import annotations

import jax
import pytest
from planted import MISTAKES, Mistake

from xla_inspect.budgets import BrokenError, hold_call
from xla_inspect.budgets.regression_causes import Causes


def ask(mistake: Mistake, function, args, call) -> str:  # noqa: ANN001 - those of the mistake
    """Return the failure message of a mistake's assertion about a function, or '' if the assertion holds."""
    try:
        verdict = mistake.holds(hold_call(function, *args, **call))
    except BrokenError as error:
        return str(error)
    return "" if verdict is None or verdict else verdict.explain()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name)
def test_a_mistake_is_caught_and_the_program_without_it_passes(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch
) -> None:
    # That the pass is named is tested elsewhere: it takes a compile more for each.
    monkeypatch.setattr(Causes, "finder", None)
    jax.config.update("jax_enable_x64", "float64" in mistake.name)
    try:
        assert ask(mistake, mistake.before, mistake.args, mistake.call) == ""
        assert mistake.says in ask(mistake, mistake.after, mistake.args, {**mistake.call, **mistake.call_after})
    finally:
        jax.config.update("jax_enable_x64", val=False)
