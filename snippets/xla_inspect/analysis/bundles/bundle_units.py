"""The known operations in a TPU's bundles, each with its unit and meaning, read from `bundle_units.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).parent / "bundle_units.toml"

NOTHING = "none"
"""The unit key of operations that use no slot and only help people who read a listing."""

_NUMBER = re.compile(r"\.(?:mxu|xlu)(\d+)(?:\.|$)")


@dataclass(frozen=True)
class Unit:
    """A unit of a TPU's core, or a kind of operation that is issued to a unit.

    Attributes:
        key: Its key in the table, such as `alu`.
        title: The name on pages.
        slot: The name under which libtpu counts the operations of the unit, or an empty string.
        sentence: A description of its work.
    """

    key: str
    title: str
    slot: str
    sentence: str


@dataclass(frozen=True)
class Mnemonic:
    """A known name of operations in bundles, with its unit and meaning.

    Attributes:
        name: The name of the operation, or its leading parts, joined by dots.
        unit: The unit that executes the operation.
        sentence: A description of its work.
    """

    name: str
    unit: Unit
    sentence: str


@cache
def list_units() -> Mapping[str, Unit]:
    """Return the units by key, in the order in which pages show them."""
    return {
        key: Unit(key, entry["title"], entry["slot"], entry["sentence"])
        for key, entry in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()
    }


@cache
def list_mnemonics() -> Mapping[str, Mnemonic]:
    """Return the known operations by name."""
    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Mnemonic(name, list_units()[key], sentence)
        for key, entry in tables.items()
        for name, sentence in entry["operations"].items()
    }


@cache
def find_mnemonic(operation: str) -> Mnemonic | None:
    """Return the mnemonic of an operation: the longest known name that the operation starts with, or None.

    Args:
        operation: The operation as printed in a bundle, such as `vmatpush.bf16.msra.mxu0`.
    """
    parts = operation.split(".")
    mnemonics = list_mnemonics()
    # Try longer prefixes first, so that a specific name takes precedence over a general one.
    for length in range(len(parts), 0, -1):
        if mnemonic := mnemonics.get(".".join(parts[:length])):
            return mnemonic
    return None


def find_number(operation: str) -> int | None:
    """Return the number of the unit among several equal ones, such as 0 for `vmatmul.bf16.gmra.mxu0`, or None."""
    match = _NUMBER.search(operation)
    return int(match[1]) if match else None
