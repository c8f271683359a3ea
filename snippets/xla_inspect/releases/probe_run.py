"""A runner of the probe, which compiles with another JAX release, with restarts after crashes until all tasks end."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.process import Child, Limits, count_memory, name_end
from xla_inspect.releases.choices import COMPILE_LIMIT
from xla_inspect.releases.environment_store import held
from xla_inspect.releases.environments import clean_environment
from xla_inspect.releases.uv_commands import ReleaseError
from xla_inspect.targets import COMPILERS_FIND
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.releases.environments import Environment

PROBE = (
    "import sys; from runpy import run_module; sys.path.append(sys.argv[1]); del sys.argv[1]; "
    "run_module('release_probe', run_name='__main__', alter_sys=True)"
)
"""The program text that runs the probe's self-contained package."""

LOGGED = {"TF_CPP_VMODULE": "hlo_pass_pipeline=1", "TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_MAX_VLOG_LEVEL": "1"}
"""Environment variables that make the compiler log each pass with its duration."""

SHARE = 0.7
"""The share of the machine's memory that a compile may use."""


def run_probe(  # noqa: PLR0913 - what is known of it
    environment: Environment,
    tasks: Sequence[Mapping[str, Any]],
    *,
    flags: Mapping[str, Any],
    paths: Sequence[str],
    say: Callable[[str], None] = lambda _: None,
    limit: float = COMPILE_LIMIT,
    logged: bool = True,
    niceness: int = 0,
) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Run tasks of compiling or running a program, and yield each with its result, or a description of its crash.

    Args:
        environment: The environment of the release.
        tasks: The tasks; each has its own `id` and `folder`.
        flags: XLA flags for the whole process; the release may not know all of them.
        paths: Folders from which the user's code imports.
        say: Called with a message when a task starts.
        limit: The time limit of one task in seconds.
        logged: Whether the compiler's log lists the passes.
        niceness: The increment of the process's niceness, for lower priority.

    Raises:
        ReleaseError: The probe does not start.
    """
    waiting = {str(task["id"]): task for task in tasks}
    with held(environment.folder), tempfile.TemporaryDirectory(prefix="xla_inspect_probe_") as folder:
        while waiting:
            job = Path(folder) / "job.json"
            content: dict[str, Any] = {"flags": dict(flags), "paths": list(paths), "tasks": list(waiting.values())}
            # Only a TPU's task has to check that the release's own libtpu is loaded.
            content["needs_libtpu"] = any(task["kind"] == "tpu" for task in waiting.values())
            job.write_text(json.dumps(content), encoding="utf-8")
            before = len(waiting)
            for key in _follow(environment, job, Path(folder), waiting, say, limit, logged=logged, niceness=niceness):
                task = waiting.pop(key)
                yield task, read_result(task)
            # A crash ends the process but counts as a result, so a round without any result would repeat forever.
            if len(waiting) == before and waiting:
                tail = (Path(folder) / "error").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                message = f"the probe does not run under JAX {environment.version}: {tail[-1] if tail else 'no word'}"
                raise ReleaseError(message)


def read_result(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the file `result.json` in the folder of a task that has ended."""
    result: dict[str, Any] = json.loads((Path(task["folder"]) / "result.json").read_text(encoding="utf-8"))
    return result


def _follow(  # noqa: PLR0913, PLR0917 - what is known of it
    environment: Environment,
    job: Path,
    folder: Path,
    tasks: Mapping[str, Mapping[str, Any]],
    say: Callable[[str], None],
    limit: float,
    *,
    logged: bool,
    niceness: int,
) -> Iterator[str]:
    """Run one process of the probe, and yield the id of each task once it has a result, also one that it crashed in."""
    # The process runs in the task's folder, so that files that the user's code writes do not land in the user's folder.
    kindly = ["nice", "-n", str(niceness)] if niceness and shutil.which("nice") else []
    variables = {**clean_environment(), **COMPILERS_FIND, **(LOGGED if logged else {}), "PYTHONFAULTHANDLER": "1"}
    # JAX would otherwise check the versions of CUDA libraries, which only a run needs.
    variables["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    # libtpu would otherwise write its log to a folder that all processes share.
    variables["TPU_LOG_DIR"] = str(folder)
    memory = int(count_memory() * SHARE)
    at = stage = ""
    with (folder / "error").open("w", encoding="utf-8") as errors:
        child = Child(
            [*kindly, str(environment.python), "-I"],
            PROBE,
            [str(Path(__file__).parent), str(job)],
            variables=variables,
            folder=folder,
            source=None,
            errors=errors,
            limits=Limits(seconds=limit, memory=memory or None),
        )
        with child:
            for line in child:
                mark = _read_mark(line)
                if "at" in mark:
                    at = mark["at"]
                    # The time limit is for one task, and the process does all of them.
                    child.restart_clock()
                    say(at)
                elif "stage" in mark:
                    stage = mark["stage"]
                elif mark.get("done") in tasks:
                    at = ""
                    yield mark["done"]
            code = child.process.wait()
    if at:
        excesses = {"time": f"not done after {limit:g} s", "memory": f"it took more memory than {format_bytes(memory)}"}
        why = excesses.get(child.excess) or _explain_end(code, Path(tasks[at]["folder"]))
        with suppress(OSError):
            (Path(tasks[at]["folder"]) / "result.json").write_text(
                json.dumps({"failed": why, "stage": stage, "ended": True, "limited": bool(child.excess)}),
                encoding="utf-8",
            )
        yield at


def _read_mark(line: str) -> dict[str, str]:
    """Return the probe's status message in a line of output, or an empty dict for any other line."""
    with suppress(ValueError):
        mark = json.loads(line)
        if isinstance(mark, dict):
            return mark
    return {}


def _explain_end(code: int, folder: Path) -> str:
    with suppress(OSError):
        lines = (folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        # XLA logs a fatal error with the letter F before it aborts the process.
        message = next((line for line in reversed(lines) if " F " in line[:60] or line.startswith("F")), "")
        fatal = message.partition("] ")[2][:200]
        return f"the compiler ended its process ({name_end(code)}){': ' if fatal else ''}{fatal}"
    return f"the compiler ended its process ({name_end(code)})"
