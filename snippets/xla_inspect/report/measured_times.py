"""The recorded times of kernels, which `scripts/measure` measured on a machine with a GPU."""

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
    """The recorded measurements of one program on one device.

    Attributes:
        date: The day of the measurement, as in 2026-11-20.
        device: The name that the device reports.
        versions: The packages that compiled and ran the program, each with its version.
        seconds: The median time in seconds of a run of each kernel, by the name of its instruction, in launch order.
        changed: For each sort of launch whose number differs, which is due to autotuning, the launched instructions in
            the measured program minus those in the capture; each counts once, however often it runs.
    """

    date: str
    device: str
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    changed: Mapping[str, int]

    def describe(self, listed: Collection[str]) -> dict[str, Any]:
        """Return the measurement as JSON data; `others` has the seconds of only those kernels that are not in `listed`.

        Args:
            listed: The names of the kernels whose times are listed elsewhere.
        """
        others = {name: seconds for name, seconds in self.seconds.items() if name not in listed}
        return {
            "date": self.date,
            "device": self.device,
            "versions": dict(self.versions),
            "others": others,
            "changed": dict(self.changed),
        }


def read_times(file: Path | None) -> Mapping[str, Any]:
    """Return the recorded measurements by target from a file of `scripts/measure`, or none without a file."""
    if file is None or not file.is_file():
        return {}
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def find_measured(record: Mapping[str, Any], capture: Capture) -> Measured | None:
    """Return the recorded measurements of a capture's program on the capture's target, or None.

    Args:
        record: The measurements by target, as `scripts/measure` writes them.
        capture: The capture. Two programs are the same if their StableHLO is the same.
    """
    device = record.get(capture.target)
    program_hash = hash_program(capture.stablehlo)
    programs = device["programs"].values() if device else ()
    # A program is recognized by its StableHLO, so measurements of another version of the program are not shown.
    entry = next((program for program in programs if program["stablehlo"] == program_hash), None)
    if device is None or entry is None:
        return None
    # The record is in microseconds, but this package calculates in seconds.
    seconds = {kernel["name"]: kernel["us"] * 1e-6 for kernel in entry["kernels"]}
    return Measured(device["date"], device["device"], device["versions"], seconds, entry["changed"])


def hash_program(stablehlo: str) -> str:
    """Return the key of a program in a record: the first 16 digits of the SHA-256 hash of its StableHLO."""
    return hashlib.sha256(stablehlo.encode()).hexdigest()[:16]
