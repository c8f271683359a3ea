"""The view of a capture in a notebook, which is drawn in a higher layer than that of captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

draw: Callable[[Any], str] = repr
"""The function that returns the HTML of a capture; the package sets it when it is imported."""
