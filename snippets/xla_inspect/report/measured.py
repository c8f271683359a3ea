"""Times of kernels that were measured where a GPU was at hand, recorded beside the pages and never by a build."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from xla_inspect.hlo.record import Capture

DATA = Path("docs/data/kernel-times.json")
"""The record, in the project that is built; `scripts/measure` writes it."""


@dataclass(frozen=True)
class Measured:
    """What was measured of one program on one device.

    Attributes:
        date: The day, as in 2026-11-20.
        device: The name that the device gives itself.
        versions: The packages that compiled and ran it, name to version.
        seconds: The median time of one run of each kernel, by the name of its instruction, in order of the launches.
        changed: How often each sort of kernel was launched there, minus how often the capture launches it, where these
            differ: what tuning changed.
    """

    date: str
    device: str
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    changed: Mapping[str, int]

    def describe(self, known: Collection[str]) -> dict[str, Any]:
        """Return what JSON can hold of it besides the times of kernels that are known.

        Args:
            known: The names of the kernels that have a place of their own.
        """
        others = {name: seconds for name, seconds in self.seconds.items() if name not in known}
        return {
            "date": self.date,
            "device": self.device,
            "versions": dict(self.versions),
            "others": others,
            "changed": dict(self.changed),
        }


def find(capture: Capture, root: Path | None = None) -> Measured | None:
    """Return what was measured of the same program on the same target, or None.

    Args:
        capture: The capture; the program is the same if its StableHLO is.
        root: The project's folder, by default the current one.
    """
    path = (root or Path.cwd()) / DATA
    if not path.is_file():
        return None
    return select(json.loads(path.read_text(encoding="utf-8")), capture)


def select(record: Mapping[str, Any], capture: Capture) -> Measured | None:
    """Return what a record holds of a capture's program on its target, or None.

    Args:
        record: Target to what was measured on it, as `scripts/measure` writes it.
        capture: The capture.
    """
    device = record.get(capture.target)
    wanted = hash_program(capture.stablehlo)
    programs = device["programs"].values() if device else ()
    found = next((each for each in programs if each["stablehlo"] == wanted), None)
    if device is None or found is None:
        return None
    seconds = {each["name"]: each["us"] * 1e-6 for each in found["kernels"]}
    return Measured(device["date"], device["device"], device["versions"], seconds, found["changed"])


def hash_program(stablehlo: str) -> str:
    """Return what names a program in a record: the start of its StableHLO's hash."""
    return hashlib.sha256(stablehlo.encode()).hexdigest()[:16]
