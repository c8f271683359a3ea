"""The effect of a change, counted by line in both compilations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.questions.why.finding import WhyFinder
from xla_inspect.questions.why.trial_effects import find_effect

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.questions.why.trial_effects import Effect

X = jax.ShapeDtypeStruct((256, 256), jnp.float32)


def fill(values: jax.Array) -> jax.Array:
    filled: jax.Array = jax.lax.fori_loop(0, 8, lambda at, held: held.at[at].set(held[at] * 2.0), values)
    return filled


def made(**options: int) -> Capture:
    return capture(fill, X, reasons=True, **options)  # type: ignore[arg-type]  # donate_argnums


def effect() -> Effect:
    finder = WhyFinder(made())
    copy = next(entry for entry in finder.evidence.module.entry if entry.opcode == "copy" and entry.shape.size > 1)
    effect = find_effect(finder.evidence, finder.answer("", copy.name).findings[0])
    assert effect is not None
    return effect


def test_a_copy_is_counted_at_its_line_and_in_all() -> None:
    here, total = effect().count(made())
    assert 1 <= here <= total


def test_donation_has_fewer_copies() -> None:
    comparison = effect().compare(made(), made(donate_argnums=0), "donate", "donate")
    assert comparison.outcome in {"removes", "reduces"}
    assert "kernels that only move data at test_trial_effects.py:" in comparison.effect


def test_the_same_program_keeps_its_copies() -> None:
    assert effect().compare(made(), made(), "donate", "donate").outcome == "keeps"


def test_a_failed_compilation_is_not_an_effect() -> None:
    failed = made().retold(error="INTERNAL: no room\nmore")
    comparison = effect().compare(made(), failed, "donate", "donate")
    assert (comparison.outcome, comparison.note) == ("failed", "INTERNAL: no room")
