"""The date and the machine of a measurement, and the frame of the commands that measure and write a record."""

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
    """Return today's date in UTC, in ISO format."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def name_processor() -> str:
    """Return the processor's name as Linux reports it, or else as Python does."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text(encoding="utf-8").splitlines() if names.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def name_machine() -> str:
    """Return the system, the architecture and the number of cores as text."""
    return f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def describe_machine() -> dict[str, str | int]:
    """Return the cores, architecture, processor and system, without data that identifies one particular machine."""
    return {
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
        "processor": name_processor(),
        "system": platform.system(),
    }


def measure_here(
    file: str, module: str, repeats: tuple[str, int], measure: Callable[[int], tuple[Mapping[str, str], dict[str, Any]]]
) -> None:
    """Run a measurement with the number of repeats from the command line, and write the record.

    Args:
        file: The name of the record in `docs/data`.
        module: The file of the command in this folder.
        repeats: The name of the command's option for repeats, and its default.
        measure: A function of the number of repeats that returns the versions and the measurements.
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
