"""Times of kernels that were measured where a GPU was at hand, as `scripts/measure` records them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from xla_inspect.captured import Capture


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


def read_times(file: Path | None) -> Mapping[str, Any]:
    """Return the record in a file: target to what was measured on it; nothing where there is no file."""
    if file is None or not file.is_file():
        return {}
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def find_measured(record: Mapping[str, Any], capture: Capture) -> Measured | None:
    """Return what a record holds of a capture's program on its target, or None.

    Args:
        record: Target to what was measured on it, as `scripts/measure` writes it.
        capture: The capture; the program is the same if its StableHLO is.
    """
    device = record.get(capture.target)
    program_hash = hash_program(capture.stablehlo)
    programs = device["programs"].values() if device else ()
    recorded = next((program for program in programs if program["stablehlo"] == program_hash), None)
    if device is None or recorded is None:
        return None
    seconds = {kernel["name"]: kernel["us"] * 1e-6 for kernel in recorded["kernels"]}
    return Measured(device["date"], device["device"], device["versions"], seconds, recorded["changed"])


def hash_program(stablehlo: str) -> str:
    """Return what names a program in a record: the start of its StableHLO's hash."""
    return hashlib.sha256(stablehlo.encode()).hexdigest()[:16]
