"""The drawing of writers and readers of a value."""

from __future__ import annotations

from chapters.exchange_picture import draw_exchange

DRAWN = draw_exchange(
    {"JAX": ["jax.jit(f).lower(x)"]}, ("StableHLO", "five <years>"), {"XLA": [], "IREE": ["a", "b"]}, "Who & who"
)


def test_writers_are_before_their_value_and_readers_after_it() -> None:
    names = ["JAX", "StableHLO", "XLA", "IREE"]
    assert sorted(names, key=lambda name: DRAWN.index(f"<b>{name}</b>")) == names


def test_each_call_is_code_of_its_own() -> None:
    assert "<li><b>IREE</b><code>a</code><code>b</code></li>" in DRAWN
