"""Plain descriptions of libtpu's compilation steps below HLO."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).parent / "low_steps.toml"


@dataclass(frozen=True)
class LowStep:
    """A step of the compiler below HLO.

    Attributes:
        name: Its name without the number that tells repetitions apart, such as `post-GVN`.
        phase: The phase of the step, such as `simplify`.
        sentence: A description of the step.
    """

    name: str
    phase: str
    sentence: str


@cache
def list_steps() -> Mapping[str, LowStep]:
    """Return the known steps, read from `low_steps.toml`, by name."""
    return {
        name: LowStep(name, entry["title"], sentence)
        for entry in tomllib.loads(TABLE.read_text(encoding="utf-8")).values()
        for name, sentence in entry["steps"].items()
    }


def find_step(name: str) -> LowStep | None:
    """Return the description of a step, or None for an unknown step.

    Args:
        name: The name from `LowStage.name`, with or without a number.
    """
    # Some steps have a number in their own name, so the whole name is tried before the number is removed.
    return list_steps().get(name) or list_steps().get(re.sub(r"-\d+$", "", name))
