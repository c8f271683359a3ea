"""Run the probe under a release until every program has a result; what is measured already is not measured again."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from authoring import expected_outputs
from common import ROOT
from releases import figures
from releases.environments import clean_environment, find_plugin
from releases.probe import write
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from releases.environments import Environment

FIRST = ("cpu", "h100", "tpu-v5e")
"""The targets that are measured before the others."""

Task = dict[str, str]


def list_tasks(programs: Iterable[str] = (), only: Iterable[str] = ()) -> list[Task]:
    """Return what is to be compiled, the targets that pages show first: every program, or those named.

    Args:
        programs: Files of snippets/programs; all where there are none.
        only: Short names of targets; all where there are none.
    """
    chosen, allowed = list(programs) or expected_outputs.list_programs(), set(only) or set(targets.TARGETS)
    tasks = []
    for program in chosen:
        for member in expected_outputs.list_members(program):
            mark = hashlib.sha256(member.name.encode()).hexdigest()[:8]
            tasks += [
                {
                    "program": program,
                    "member": member.name,
                    "base": base,
                    "target": target,
                    "kind": targets.find(base).kind,
                    "file": f"raw/{base}/{program}.{mark}.json.gz",
                }
                for base, target in member.targets.items()
                if base in allowed
            ]
    order = list(dict.fromkeys((*FIRST, *targets.TARGETS)))
    return sorted(tasks, key=lambda task: order.index(task["base"]))


def measure(environment: Environment, tasks: list[Task], say: Callable[[str], None]) -> dict[str, int]:
    """Compile what has no result yet under a release; return the number of GPU figures that it has no field for.

    Args:
        environment: The release.
        tasks: What to compile.
        say: Hears of progress.
    """
    folder = environment.folder
    able = [task for task in tasks if task["kind"] not in environment.missing]
    adapted, left_out = figures.adapt(find_plugin(environment)) if "gpu" not in environment.missing else ({}, {})
    while True:
        waiting = [task for task in able if not (folder / task["file"]).exists()]
        if not waiting and (folder / "names.json").exists():
            return left_out
        job = {
            "out": str(folder),
            "snippets": str(ROOT / "snippets"),
            "figures": adapted,
            "tasks": waiting,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        _follow(environment, waiting, len(able), say)


def _follow(environment: Environment, waiting: list[Task], total: int, say: Callable[[str], None]) -> None:
    """Run the probe once, say what it is at, and give what it died of as the result of what it was at."""
    folder, started, at = environment.folder, time.monotonic(), folder_at(environment)
    at.unlink(missing_ok=True)
    done, targets_left = total - len(waiting), Counter(task["base"] for task in waiting)
    command = ["nice", "-n", "10", *environment.module("releases.probe"), str(folder / "job.json")]
    with (folder / "probe.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8", env=clean_environment()
        )
        assert process.stdout is not None  # noqa: S101 - asked for above
        for line in process.stdout:
            file = _read_mark(line)
            base = file.split("/")[1] if file else ""
            if base:
                done += 1
                targets_left[base] -= 1
                if done % 25 == 0 or targets_left[base] == 0:
                    say(f"{environment.version}: {done} of {total} ({base}), {time.monotonic() - started:.0f} s")
    if process.wait() == 0:
        return
    if not at.exists():
        tail = (folder / "probe.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        message = f"the probe did not start under JAX {environment.version}: {' '.join(tail) or 'it said nothing'}"
        raise SystemExit(message)
    task = json.loads(at.read_text(encoding="utf-8"))
    say(f"{environment.version}: the compiler ended the process (exit {process.returncode}) at {task['file']}")
    write(folder / task["file"], {"failed": f"the compiler ended the process (exit {process.returncode})"})


def _read_mark(line: str) -> str:
    """Return the file that the probe says it is at, or an empty string for any other line."""
    try:
        return str(json.loads(line)["at"])
    except (ValueError, KeyError, TypeError):
        return ""


def folder_at(environment: Environment) -> Path:
    """Return the file in which the probe says what it is at."""
    return environment.folder / "at.json"


def read(environment: Environment, task: Task) -> dict[str, Any]:
    """Return the result of one program."""
    result: dict[str, Any] = json.loads(gzip.decompress((environment.folder / task["file"]).read_bytes()))
    return result
