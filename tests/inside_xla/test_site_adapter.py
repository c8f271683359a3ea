"""Additions of this site to the engine, such as notebooks that run without the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from inside_xla.site_adapter import ADAPTER
from livepage.notebooks import read_notebook, write_download
from livepage.read import project

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "practice" / "jaxpr.py"

# Colab has pip, which an environment of uv's has not; what it is asked for, uv does.
PIP = """\
import subprocess
import sys

subprocess.run(["uv", "pip", *sys.argv[1:], "--no-deps", f"--python={sys.executable}"], check=True)
"""

MARKED = """
from xla_inspect.practice.notebook import find_exercise

get_ipython().run_cell_magic("exercise", "jaxpr/follow", find_exercise("jaxpr/follow").solution_text)
"""


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the project's dependencies but without the project."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    subprocess.run(["uv", "venv", "--quiet", f"--python={sys.executable}", str(folder)], check=True)
    packages = next(folder.rglob("site-packages"))
    # Files named .pth are read in an environment's own folder alone, and the project is one in the other.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (packages / "pip").mkdir()
    (packages / "pip" / "__main__.py").write_text(PIP, encoding="utf-8")
    return next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())


@pytest.fixture(autouse=True)
def _adapted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "adapter", ADAPTER)


def first_cell(address: str) -> str:
    """Return the first code cell of the downloaded notebook; `address` is that of the repository, or ''."""
    notebook = json.loads(write_download(read_notebook(NOTEBOOK), address, lambda _: None))
    cells: list[str] = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return cells[0]


def run(python: Path, cell: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a cell in a new process of IPython, as the kernel of a notebook does, and return the process."""
    (folder / "cell.ipy").write_text(cell, encoding="utf-8")
    command = [str(python), "-m", "IPython", "--no-banner", "--colors=NoColor", "cell.ipy"]
    # Where the project is on the path already the first cell does nothing; IPython puts VIRTUAL_ENV's packages there.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment["IPYTHONDIR"] = str(folder / "ipython")
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long("the package is installed into environments of its own")
def test_without_the_project_the_first_cell_fetches_it_and_an_exercise_is_marked(bare: Path, tmp_path: Path) -> None:
    result = run(bare, first_cell(ROOT.as_uri()) + MARKED, tmp_path)
    assert result.stdout.splitlines()[:1] == ["right"], result.stdout + result.stderr
    assert (tmp_path / "inside-xla" / "snippets" / "practice" / "jaxpr" / "follow.py").is_file()


def test_the_first_cell_without_an_address_gives_instructions(bare: Path, tmp_path: Path) -> None:
    result = run(bare, first_cell(""), tmp_path)
    assert "open this notebook in the project's environment: `uv run --with jupyterlab" in result.stdout + result.stderr


@pytest.mark.long("the package is installed into environments of its own")
def test_in_the_projects_environment_the_first_cell_fetches_nothing(tmp_path: Path) -> None:
    result = run(Path(sys.executable), first_cell("https://example.org/nothing") + MARKED, tmp_path)
    assert result.stdout.splitlines()[:1] == ["right"], result.stdout + result.stderr
    assert not (tmp_path / "inside-xla").exists()


def test_a_printed_jaxpr_is_plain_text_in_any_build() -> None:
    code = "from inside_xla import site_adapter; import jax; print(jax.config.jax_pprint_use_color)"
    environment = {**os.environ, "JAX_PPRINT_USE_COLOR": "1", "PYTHONPATH": str(ROOT / "scripts")}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("first", ["import jax", "import xla_inspect, jax"])
def test_a_stored_page_is_found_for_any_earlier_import_of_jax(first: str) -> None:
    assert describe_machine(after=first) == describe_machine(after="")


@pytest.mark.parametrize(("missing", "descriptions"), [("", 1), ("no plugin", 2)])
def test_requiring_all_targets_changes_the_description_only_if_a_target_is_missing(
    missing: str, descriptions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xla_inspect.available", lambda: {"cpu": "", "h100": missing})
    described = set()
    for required in ("", "all"):
        monkeypatch.setenv("REQUIRE_TARGETS", required)
        described.add(str(ADAPTER.describe_machine()))
    assert len(described) == descriptions


def describe_machine(after: str) -> str:
    """Return the description of the machine that a new process prints after running some code."""
    code = f"{after}\nfrom inside_xla.site_adapter import ADAPTER\nprint(ADAPTER.describe_machine())"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_CPP")}
    environment["PYTHONPATH"] = str(ROOT / "scripts")
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
