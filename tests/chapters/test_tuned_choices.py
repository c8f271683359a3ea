"""The existence of autotuning candidates, decided by a compilation without recorded results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from chapters import tuned_choices

SIDE = jax.ShapeDtypeStruct((64, 64), jnp.float32)


def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return a matmul."""
    return x @ y


def copy(x: jax.Array) -> jax.Array:
    """Return x."""
    return x


@pytest.mark.usefixtures("all_targets")
def test_a_matmul_has_candidates_and_a_copy_has_none() -> None:
    assert tuned_choices.has_choice(multiply, SIDE, SIDE, target="h100")
    assert not tuned_choices.has_choice(copy, SIDE, target="h100")


@pytest.mark.usefixtures("all_targets")
def test_a_compile_that_ends_for_another_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        message = "RESOURCE_EXHAUSTED"
        raise jax.errors.JaxRuntimeError(message)

    monkeypatch.setattr(tuned_choices, "capture", fail)
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"):
        tuned_choices.has_choice(multiply, SIDE, SIDE, target="h100")
