"""The same program gives the same bytes on any machine, in any folder, order and caller."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
REPRODUCE = Path(__file__).with_name("reproduce.py")

pytestmark = [pytest.mark.usefixtures("all_targets"), pytest.mark.long("many processes compile the same")]


def reproduce(project: Path, out: Path, *variants: str, before: tuple[str, ...] = (), **environment: str) -> None:
    """Capture the programs of a project's folder in another process, into another folder."""
    out.mkdir()
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_", "TPU_"))}
    subprocess.run(
        [*before, sys.executable, str(REPRODUCE), str(project / "snippets"), str(out), *variants],
        env={**clean, "XLA_INSPECT_CACHE": "off", **environment},
        cwd=project,
        check=True,
    )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("in another") / "fol der"
    shutil.copytree(ROOT / "snippets", folder / "snippets", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The captures made in this folder, by program and target."""
    out = tmp_path_factory.mktemp("usual") / "out"
    reproduce(ROOT, out, PYTHONHASHSEED="0")
    return read(out)


def read(out: Path) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(out.iterdir())}


def one_core() -> tuple[str, ...]:
    core = str(min(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "0"
    return ("taskset", "-c", core) if shutil.which("taskset") else ()


def test_captures_do_not_depend_on_folder_order_seed_cores_or_earlier_use_of_jax(
    usual: dict[str, str], elsewhere: Path, tmp_path: Path
) -> None:
    reproduce(
        elsewhere,
        tmp_path / "out",
        "reversed",
        "busy",
        before=one_core(),
        PYTHONHASHSEED="12345",
        XLA_FLAGS="--xla_cpu_max_isa=SSE4_2 --xla_force_host_platform_device_count=4 --xla_dump_hlo_pass_re=none",
    )
    assert read(tmp_path / "out") == usual


def find_marks(text: str) -> Iterator[str]:
    """Yield forbidden texts: absolute paths, the capture's own frames, and numbers of this process."""
    for mark in (str(ROOT), str(Path(sys.prefix)), str(Path.home()) + "/", "reproduce.py", "lowering.py"):
        if mark in text:
            yield mark
    yield from re.findall(r"module_\d{4}|apply-xla-transforms-\d+|fingerprint_before_lhs|timestamp", text)
    yield from re.findall(r'"/[a-z]+/[^"]*"', text)


def test_no_text_names_this_machine_or_this_run(usual: dict[str, str]) -> None:
    assert {name: list(find_marks(text)) for name, text in usual.items()} == {name: [] for name in usual}
