"""The programs of the practice compute the documented results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect.practice import models


@pytest.fixture(scope="module")
def params() -> models.Params:
    return models.init(seed=0)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_parameters_have_their_shapes_and_depend_on_the_seed_alone(params: models.Params) -> None:
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(lambda leaf: leaf.shape, models.PARAMS)
    again, other = models.init(seed=0), models.init(seed=1)
    assert np.array_equal(params.w1, again.w1)
    assert not np.array_equal(params.w1, other.w1)


def test_waste_changes_no_result(params: models.Params) -> None:
    x = draw(32, 64)
    np.testing.assert_allclose(models.wasteful(params, x), jax.nn.softmax(models.mlp(params, x)), atol=1e-6)
    np.testing.assert_allclose(models.doubled(x), 4 * x)


def test_pixels_are_brought_into_range(params: models.Params) -> None:
    np.testing.assert_allclose(
        models.classify(params, jnp.full((32, 64), 255.0)), models.mlp(params, jnp.ones((32, 64))), atol=1e-6
    )


def test_the_programs_to_predict_compute_what_their_docstrings_say() -> None:
    x, w, v = draw(8, 4), draw(4, 6), draw(4, 6)
    np.testing.assert_allclose(models.center(x).mean(axis=-1), np.zeros(8), atol=1e-6)
    np.testing.assert_allclose(models.gated(x, w, v), x @ v / (1 + np.exp(-x @ w)), atol=1e-4)
    expected = np.exp(-np.abs(x)) * np.cos(3 * x) + 0.5 * np.tanh(x)
    np.testing.assert_allclose(models.decay(x), expected, atol=1e-5)
