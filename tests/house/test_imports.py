"""The import contracts of `pyproject.toml` hold, and a violation names both modules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from common import ROOT

LINT = str(Path(sys.executable).with_name("lint-imports"))


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import linter with the contracts of a copy, and return its process."""
    path = os.pathsep.join(str(folder / name) for name in ("snippets", "scripts"))
    return subprocess.run(
        [LINT, "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        check=False,
        capture_output=True,
        text=True,
    )


# Each module with what it must not import.
PLANTED = [
    ("xla_inspect.hlo.shape", "xla_inspect.captured.storage"),
    ("xla_inspect.captured.storage", "xla_inspect.analysis.fusions"),
    ("xla_inspect.analysis.fusions", "xla_inspect.report.markdown"),
    ("xla_inspect.report.markdown", "xla_inspect.compilation.dump_compile"),
    ("xla_inspect.compilation.dump_compile", "xla_inspect.report.markdown"),
    ("xla_inspect.report.markdown", "xla_inspect.practice.tables"),
    ("xla_inspect.commands.show", "xla_inspect.practice.tables"),
    ("xla_inspect.errors", "xla_inspect.hlo.shape"),
    ("xla_inspect.report.markdown", "chapters.bar_chart"),
    ("xla_inspect.analysis.fusions", "numpy"),
    ("xla_inspect.report.explorer.data", "jax"),
    ("xla_inspect.questions.memory.finding", "xla_inspect.report.svg_figure"),
    ("xla_inspect.budgets.regression_causes", "xla_inspect.report.views"),
    ("livepage.read.blocks", "livepage.run.guard"),
    ("livepage.keep.outcomes", "livepage.publish.search"),
    ("livepage.publish.search", "xla_inspect.errors"),
    ("livepage.run.guard", "jax"),
]


def copy(folder: Path) -> None:
    """Copy the packages alone, with the project's contracts, into a folder."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    ignored = shutil.ignore_patterns("__pycache__", "peers", "programs")
    for name in ("snippets", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)


def test_every_contract_is_kept(tmp_path: Path) -> None:
    copy(tmp_path)
    result = lint(tmp_path)
    assert (result.returncode, result.stdout.splitlines()[-1].partition(",")[2]) == (0, " 0 broken.")


def test_imports_against_the_contracts_are_reported_with_both_modules(tmp_path: Path) -> None:
    copy(tmp_path)
    for module, imported in PLANTED:
        folder = "scripts" if module.startswith("livepage") else "snippets"
        path = tmp_path / folder / Path(*module.split(".")).with_suffix(".py")
        path.write_text(f"{path.read_text(encoding='utf-8')}\nimport {imported}\n", encoding="utf-8")
    result = lint(tmp_path)
    assert result.returncode == 1
    # Where it is at fault itself, and no step on the way to another's fault, a line begins with it.
    violations = [
        violation for violation in PLANTED if re.search(rf"(?m)^- +{violation[0]} -> {violation[1]} \(", result.stdout)
    ]
    assert violations == PLANTED


ALONE = """
import sys

class StandardLibraryAlone:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "xla_inspect":
            raise ModuleNotFoundError(f"{name} is asked for")

sys.meta_path.insert(0, StandardLibraryAlone())
import xla_inspect
from xla_inspect.analysis import list_kernels
from xla_inspect.hlo import parse_module
from xla_inspect.report import draw_computation
from xla_inspect.report.explorer import write_report

module = parse_module(sys.stdin.read())
kernels = [kernel.name for kernel in list_kernels(module)]
print(kernels, draw_computation(module.entry, module)[:7], callable(write_report))
"""
HLO = """HloModule alone

ENTRY main {
  x = f32[4] parameter(0)
  ROOT doubled = f32[4] add(x, x)
}
"""


def test_reading_answering_and_drawing_need_only_the_standard_library() -> None:
    result = subprocess.run([sys.executable, "-c", ALONE], input=HLO, capture_output=True, text=True, check=False)
    assert (result.stderr, result.stdout) == ("", "['doubled'] <figure True\n")
