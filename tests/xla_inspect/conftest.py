"""Compilations shared by many tests of a session: the corpus of real dumps, and a layer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture_all
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect import Captures

HERE = Path(__file__).parent
TARGETS = ("cpu", "h100", "tpu-v5e")
PATIENCE = 300
"""Seconds that the programs may take to compile for a target."""
# Tests are found by path and not as a package, so their helpers are found this way.
sys.path.insert(0, str(HERE))


@dataclass
class Corpus:
    """The dumps of every program, compiled in one process for each target while the tests already run.

    Where several processes share the tests, the first that asks compiles for all of them.
    """

    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def start(self) -> None:
        """Start compiling for every target that this machine can compile for, unless another process did."""
        try:
            self.folder.mkdir()
        except FileExistsError:
            return
        # Settings of JAX that must precede its import: eight simulated devices for the collectives.
        environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "8"}
        for target in TARGETS:
            if not find_target(target).obstacle:
                command = [sys.executable, str(HERE / "corpus.py"), str(self.folder / target), target]
                self.processes[target] = subprocess.Popen(
                    command, env=environment, stderr=subprocess.PIPE, text=True, encoding="utf-8"
                )

    def wait(self, target: str) -> Path:
        """Wait for a target's dumps; return the folder that holds a folder for each program."""
        if reason := find_target(target).obstacle:
            raise TargetUnavailableError(target, reason)
        if process := self.processes.get(target):
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, errors
        end = time.monotonic() + PATIENCE
        while not (self.folder / target).exists():
            assert time.monotonic() < end, f"another process compiles the programs for {target}, and did not end"
            time.sleep(0.1)
        return self.folder / target

    def texts(self, target: str) -> list[Path]:
        """Return the file of every text of a module for a target, sorted by path."""
        folder = self.wait(target)
        return [path for path in sorted(folder.glob("*/*.txt")) if not path.name.endswith(PLANS)]

    def passes(self, target: str, program: str) -> list[Path]:
        """Return the files of the modules of a program in the order of the passes, the unoptimized one first."""
        folder = self.wait(target) / program
        return [*folder.glob("*before_optimizations.txt"), *sorted(folder.glob("*.[0-9][0-9][0-9][0-9].*.txt"))]

    def find(self, target: str, program: str, ending: str) -> Path:
        """Return the only file of a program whose name has the given ending."""
        (path,) = (self.wait(target) / program).glob(f"*{ending}")
        return path

    @cached_property
    def available(self) -> tuple[str, ...]:
        """The targets that this machine can compile for."""
        return tuple(target for target in TARGETS if not find_target(target).obstacle)


PLANS = ("-buffer-assignment.txt", "-live-range.txt")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """The dumps of every program for every target."""
    base = tmp_path_factory.getbasetemp()
    shared = "PYTEST_XDIST_WORKER" in os.environ
    corpus = Corpus((base.parent if shared else base) / "corpus")
    corpus.start()
    yield corpus
    for process in corpus.processes.values():
        if not shared:  # another process may still wait for what it makes
            process.kill()
        process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="session")
def layers() -> Captures:
    """The captures of relu(x @ w + b) for CPU, H100 and TPU v5e, without the cache."""
    from programs import layer

    # Off for these compiles alone: other tests use the cache.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_INSPECT_CACHE", "off")
        return capture_all(layer.layer, *layer.EXAMPLE)
