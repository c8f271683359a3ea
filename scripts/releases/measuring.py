"""The compilation of all programs under a JAX release: a probe runs until each has a result; stored ones are reused."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from authoring import expected_outputs
from common import ROOT
from releases import pinned_environments, public_names
from xla_inspect import store, targets
from xla_inspect.analysis import summarize_code
from xla_inspect.compilation import PINNED, list_options
from xla_inspect.errors import InspectError
from xla_inspect.releases import ReleaseError, clean_environment, count_figures, read_probe, run_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xla_inspect.releases import Environment

FIRST = ("cpu", "h100", "tpu-v5e")
"""The targets that are measured before the others."""

CODED = ("cpu", "h100")
"""The targets whose generated code is compared; a TPU's compiler dumps none."""

LISTED = "xla_disable_hlo_passes"
"""The option with a list as its value; the probe sets it for the whole process, as older releases require."""

PROGRAMS = ROOT / "snippets" / "programs"
LONG = 1800
"""The largest number of seconds for one compilation."""

Task = dict[str, str]


def list_tasks(programs: Iterable[str] = (), only: Iterable[str] = ()) -> list[Task]:
    """Return the compilations to make, starting with the targets that pages show first.

    Args:
        programs: Files of snippets/programs; all of them if empty.
        only: Short names of targets; all of them if empty.
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
                    "kind": targets.find_target(base).kind,
                    "file": f"raw/{base}/{program}.{mark}.json.gz",
                }
                for base, target in member.targets.items()
                if base in allowed
            ]
    order = list(dict.fromkeys((*FIRST, *targets.TARGETS)))
    return sorted(tasks, key=lambda task: order.index(task["base"]))


def measure_release(environment: Environment, tasks: list[Task], say: Callable[[str], None]) -> dict[str, int]:
    """Compile everything that has no result yet; return the number of GPU figures that the release has no field for.

    Args:
        environment: The environment of the release.
        tasks: The compilations to make.
        say: A function that receives progress messages.

    Raises:
        ReleaseError: The probe does not start.
    """
    able = [task for task in tasks if task["kind"] not in environment.missing]
    waiting = {task["file"]: task for task in able if not (environment.folder / task["file"]).exists()}
    write_names(environment)
    figures = pinned_environments.adapt_all(environment)
    start, remaining = time.monotonic(), Counter(task["base"] for task in waiting.values())
    count = len(able) - len(waiting)
    with tempfile.TemporaryDirectory(prefix="xla_inspect_releases_") as folder:
        described = [build_probe_task(task, figures, Path(folder)) for task in waiting.values()]
        for probe_task, result in run_probe(
            environment, described, flags=list_flags(), paths=[str(PROGRAMS.parent)], limit=LONG, niceness=10
        ):
            task = waiting[probe_task["id"]]
            write_compressed(environment.folder / task["file"], read_result(probe_task, result))
            shutil.rmtree(probe_task["folder"], ignore_errors=True)
            count += 1
            remaining[task["base"]] -= 1
            if result.get("ended"):
                say(f"{environment.version}: {result['failed']} at {task['file']}")
            if count % 25 == 0 or remaining[task["base"]] == 0:
                say(f"{environment.version}: {count} of {len(able)} ({task['base']}), {time.monotonic() - start:.0f} s")
    return {name: count_figures(targets.read_spec(name)) - count_figures(text) for name, text in figures.items()}


def list_flags() -> dict[str, str]:
    """Return the XLA flags for the whole process that make a result independent of the machine."""
    return {
        LISTED: str(PINNED["cpu"][LISTED]),
        "xla_cpu_max_isa": targets.ISA,
        "xla_force_host_platform_device_count": str(targets.CPUS),
    }


def build_probe_task(task: Task, figures: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Return a task in the probe's format, with the options of captures.

    Args:
        task: The task.
        figures: The figures of GPUs, by short name, in the release's format.
        folder: The folder for the probe's output.
    """
    target, kind = targets.find_target(task["target"]), task["kind"]
    options = {**list_options(kind, folder), **PINNED[kind]}
    # The probe sets the folder of the dumps itself, and the list of passes for the whole process.
    for name in ("xla_dump_to", LISTED):
        options.pop(name, None)
    module = importlib.import_module(f"programs.{task['program']}")
    is_own = hasattr(module, task["program"])
    return {
        "id": task["file"],
        "folder": str(folder / hashlib.sha256(task["file"].encode()).hexdigest()[:16]),
        "file": str(PROGRAMS / f"{task['program']}.py"),
        "module": module.__name__,
        "root": str(ROOT),
        "name": task["program"] if is_own else task["member"],
        "layout": task["member"] if is_own else "",
        "args": None,
        "xla": {},
        "kind": kind,
        "base": target.base,
        "target": target.name,
        "devices": int(target.topology or 1) if kind == "cpu" else 0,
        "topology": None if kind == "cpu" else targets.describe_topology(target, figures.get(target.base, "")),
        "options": options,
    }


def write_names(environment: Environment) -> None:
    """Write the public names of a release's JAX, unless the file exists.

    Raises:
        ReleaseError: The names cannot be listed.
    """
    names = environment.folder / "names.json"
    if names.exists():
        return
    command = [str(environment.python), "-I", str(public_names.__file__)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environment())
    if ended.returncode:
        message = f"the public names of JAX {environment.version} cannot be listed: {ended.stderr.strip()[-300:]}"
        raise ReleaseError(message)
    store.write_whole(names, ended.stdout.encode())


def read_result(probe_task: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with what its dumps contain (modules, passes, work of the code), or only the reason of a failure.

    Args:
        probe_task: The task in the probe's format.
        result: The probe's result.
    """
    # Addresses and folders differ from run to run, and a record must not change with them.
    if failed := result.get("failed"):
        return {
            "failed": re.sub(r"(?:/[\w.@+-]+){2,}/", "", re.sub(r"0x[0-9a-f]+", "0x...", failed))[:300].rstrip(": ")
        }
    try:
        capture = read_probe(probe_task, result, {})
    except InspectError as error:
        return {"failed": f"its dumps cannot be read: {error}"[:300]}
    passes = {"changed": list(capture.pass_names), "ran": [run.name for run in capture.runs]}
    summary = summarize_code(capture.code) if probe_task["base"] in CODED else None
    code = {"work": summary.work, "entries": summary.entries} if summary else {"work": {}, "entries": 0}
    return {**result, "before": capture.before, "after": capture.after, **passes, **code}


def write_compressed(path: Path, content: object) -> None:
    """Write compressed JSON; the file is either complete or missing."""
    store.write_whole(path, gzip.compress(json.dumps(content).encode(), 3, mtime=0))


def load_result(environment: Environment, task: Task) -> dict[str, Any]:
    """Return the stored result of one compilation."""
    result: dict[str, Any] = json.loads(gzip.decompress((environment.folder / task["file"]).read_bytes()))
    return result
