"""The main program, which compiles or runs the programs that the tasks of a job name, and writes the results."""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .probe_compile import compile_task, time_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGE = 1 << 20


def main() -> None:
    """Do the tasks of a job that have no result yet; each task names the folder for its results."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    flags = {name: value for name, value in job["flags"].items() if is_known(name)}
    os.environ["XLA_FLAGS"] = " ".join(f"--{name}={value}" for name, value in flags.items())
    for folder in job["paths"]:
        put_on_path(folder)
    if job.get("needs_libtpu"):
        check_libtpu()
    for task in job["tasks"]:
        folder = Path(task["folder"])
        result = folder / "result.json"
        # After a crash, the job is run again with the tasks that are left.
        if result.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        say({"at": task["id"]})
        begin("loading")
        with logged(folder / "log"):
            try:
                outcome = time_runs(task) if task.get("runs") else compile_task(task, folder, begin)
            except Exception as error:  # noqa: BLE001 - whatever a release says is what is reported
                outcome = {**describe(error, task), "stage": STAGE[0]}
        # The file is renamed into place, so it is complete even if this process is killed.
        unfinished = folder / "result.json.tmp"
        unfinished.write_text(json.dumps(outcome), encoding="utf-8")
        unfinished.replace(result)
        say({"done": task["id"]})


STAGE = ["loading"]
"""The current stage, so that the parent process knows it if the compiler crashes."""


def begin(stage: str) -> None:
    """Store the stage that starts now, and report it to the parent process."""
    STAGE[0] = stage
    say({"stage": stage})


def say(message: Mapping[str, str]) -> None:
    """Send a message to the parent process, as a line of JSON on the original standard output."""
    print(json.dumps(message), file=TOLD, flush=True)


TOLD = os.fdopen(os.dup(1), "w")
"""The original standard output; output of the user's code goes to the log."""


def is_known(flag: str) -> bool:
    """Return whether a library of jaxlib contains the name of a flag; at an unknown flag, XLA would end the process."""
    spec = importlib.util.find_spec("jaxlib")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for path in (path for folder in folders for path in Path(folder).rglob("*") if path.suffix in {".so", ".dylib"}):
        # Only the large libraries contain XLA, and searching the others takes time.
        if path.stat().st_size > LARGE:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
                if code.find(flag.encode()) >= 0:
                    return True
    return False


def put_on_path(folder: str) -> None:
    """Make the modules of a folder importable before installed ones, but after the standard library."""
    # A file such as `json.py` in the user's folder must not replace a module of the standard library.
    at = next((at for at, place in enumerate(sys.path) if "site-packages" in place), len(sys.path))
    sys.path.insert(at, folder)


def check_libtpu() -> None:
    """Exit with an error if JAX would load another environment's libtpu, which belongs to another release."""
    import jax  # noqa: F401 - it decides which is loaded

    path = os.environ.get("TPU_LIBRARY_PATH", "")
    if path and not Path(path).resolve().is_relative_to(Path(sys.prefix).resolve()):
        sys.exit(f"TPU_LIBRARY_PATH is {path}, which does not belong to {sys.prefix}")


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Redirect the output of this process and of the compilers to a file within the `with` block."""
    # Buffered text must reach the previous output before the descriptors change.
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(str(path), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    before = [os.dup(number) for number in (1, 2)]
    for number in (1, 2):
        os.dup2(file, number)
    try:
        yield
    finally:
        # Text that the user's code buffered belongs to this task's log.
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), before):  # noqa: B905 - Python 3.9 has no such argument
            os.dup2(old, number)
            os.close(old)
        os.close(file)


def describe(error: BaseException, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return an error as a dict of its type and first line (`failed`) and its line in the user's files (`place`)."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    place, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        # The innermost line of the user's own files counts, so the loop does not stop at the first one.
        if task.get("root") and file.startswith(task["root"]) and "site-packages" not in file:
            place = f"{os.path.relpath(file, task['root'])}:{step.tb_lineno}"
        step = step.tb_next
    return {"failed": f"{type(error).__name__}: {first}"[:2000].rstrip(": "), "place": place}


if __name__ == "__main__":
    main()
