"""An inexpensive model that predicts the memory and the time of plans from those that were compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.subject import Choice

type Key = tuple[int, ...]
"""The number of the choice of each kind."""

SPREAD = {"mesh": (0.7, 0.8)}
USUAL_SPREAD = (0.5, 0.15)
"""The expected spread of the logarithms of the memory of temporaries and of the time between choices of a kind."""

MIXED = 0.04
"""The part of the spread that changes cause only together."""


class Known(NamedTuple):
    """The result of a compiled plan: the memory of its temporaries, and its time if it compiled."""

    rest: float
    seconds: float | None


def predict(
    choices: Mapping[str, Sequence[Choice]], results: Mapping[Key, Known], keys: Sequence[Key], which: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and standard deviations of the logarithms of memory (0) or time (1) for plans.

    The model is a Gaussian process: the effects of choices of different kinds add up, meshes with similar sizes have
    similar effects, and each choice has an expected effect until a compiled plan shows the real one.
    """
    values_by_key = {key: value for key, one in results.items() if (value := one[which])}
    places = [*values_by_key]

    def expect(some: Sequence[Key]) -> np.ndarray:
        several = choices.values()
        return np.array([sum(one[at].expected[which] for one, at in zip(several, key, strict=True)) for key in some])

    own = _relate(choices, keys[:1], keys[:1], which)[0, 0]
    if not values_by_key:
        return expect(keys), np.full(len(keys), math.sqrt(own))
    values = np.log([*values_by_key.values()]) - expect(places)
    covariance = _relate(choices, places, places, which) + 1e-4 * np.eye(len(places))
    cross = _relate(choices, keys, places, which)
    # The level of all plans is unknown, so it is the mean of the compiled ones.
    weights = np.linalg.solve(covariance, np.stack([values, np.ones(len(places))], axis=1))
    level = weights[:, 0].sum() / weights[:, 1].sum()
    mean = expect(keys) + level + cross @ (weights[:, 0] - level * weights[:, 1])
    variance = own - np.einsum("ij,ji->i", cross, np.linalg.solve(covariance, cross.T))
    return mean, np.sqrt(np.maximum(variance, 1e-8))


def _relate(
    choices: Mapping[str, Sequence[Choice]], keys: Sequence[Key], others: Sequence[Key], which: int
) -> np.ndarray:
    """Return the covariance of each plan with each other one."""
    total = np.zeros((len(keys), len(others)))
    mixed = np.full_like(total, MIXED**2)
    for at, (kind, several) in enumerate(choices.items()):
        places = np.array([choice.place or (99.0 * number,) for number, choice in enumerate(several)])
        distances = ((places[:, None] - places[None]) ** 2).sum(-1)
        alike = np.exp(-distances / 10)[np.ix_([key[at] for key in keys], [key[at] for key in others])]
        total += SPREAD.get(kind, USUAL_SPREAD)[which] ** 2 * alike
        mixed *= alike
    return total + mixed
