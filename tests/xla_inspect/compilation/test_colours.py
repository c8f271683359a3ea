"""Captured text does not depend on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

from xla_inspect import capture

if TYPE_CHECKING:
    import pytest


def double(x: jax.Array) -> jax.Array:
    return x * 2


def test_a_terminal_puts_no_colours_into_a_jaxpr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jax._src.pretty_printer.CAN_USE_COLOR", True)
    assert "\x1b[" in str(jax.make_jaxpr(double)(1.0))
    program = capture(double, 1.0)
    assert "\x1b[" not in program.jaxpr + program.jaxpr_locations
