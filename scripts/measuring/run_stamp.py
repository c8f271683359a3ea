"""The date and the machine of a measurement, and the commands that measure on this machine and write a record."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def today() -> str:
    """Return the date, as a record has it."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def name_processor() -> str:
    """Return the processor's name, as Linux has it."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text(encoding="utf-8").splitlines() if names.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def name_machine() -> str:
    """Return system, architecture and cores in a few words."""
    return f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def describe_machine() -> dict[str, str | int]:
    """Return cores, architecture and the processor's name, and nothing that tells one machine from its like."""
    return {
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
        "processor": name_processor(),
        "system": platform.system(),
    }


def measure_here(
    file: str, module: str, repeats: tuple[str, int], measure: Callable[[int], tuple[Mapping[str, str], dict[str, Any]]]
) -> None:
    """Measure on this machine, as often as the command line says, and write the record.

    Args:
        file: The name of the record in `docs/data`.
        module: The file of the command in this folder.
        repeats: What the command's option for repeats is called, and its default.
        measure: Takes how often, and returns versions and what was measured.
    """
    name, default = repeats
    script = f"scripts/measuring/{module}"
    parser = argparse.ArgumentParser(prog=script, description=sys.modules[measure.__module__].__doc__)
    parser.add_argument(f"--{name}", type=int, default=default, help=f"{name} of each program (default: {default})")
    count = getattr(parser.parse_args(), name)
    versions, measured = measure(count)
    content = {"date": today(), "machine": describe_machine(), name: count, **measured}
    stamps.write_sealed(ROOT / "docs" / "data" / file, f"uv run python {script}", versions, content)
    print(f"wrote docs/data/{file}")
