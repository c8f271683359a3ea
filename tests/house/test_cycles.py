"""No hidden import of a module by a string, and no import cycle of more than two files."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGES = ("xla_inspect", "chapters", "livepage", "inside_xla")

# Imports in functions and for type checkers count.
LIST_CYCLES = """
import json, sys
import grimp

graph = grimp.build_graph(*sys.argv[1:], exclude_type_checking_imports=False, cache_dir=None)
cycles = {
    tuple(sorted({name, *graph.find_upstream_modules(name) & graph.find_downstream_modules(name)}))
    for name in graph.modules
}
print(json.dumps([cycle for cycle in sorted(cycles) if len(cycle) > 2]))
"""


def list_cycles(folder: Path) -> list[list[str]]:
    """Return the cycles of more than two files among the packages below a folder."""
    path = os.pathsep.join(str(folder / name) for name in ("snippets", "scripts"))
    command = [sys.executable, "-c", LIST_CYCLES, *PACKAGES]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    cycles: list[list[str]] = json.loads(result.stdout)
    return cycles


def list_hidden_imports(folder: Path) -> Iterator[str]:
    """Yield the place of each import of our packages by a string, including concatenated strings."""
    for path in sorted(path for name in ("snippets", "scripts") for path in (folder / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and is_hidden_import(node):
                yield f"{path.relative_to(folder).as_posix()}:{node.lineno}"


def is_hidden_import(call: ast.Call) -> bool:
    """Return whether a call imports a module that a string names."""
    function = ast.unparse(call.func).rpartition(".")[2]
    name = ast.unparse(call.args[0]).lstrip("f").strip("'\"")
    names = (*PACKAGES, "{__name__", "{__package__")
    return function in {"import_module", "__import__", "run_module"} and name.startswith(names)


def test_no_cycle_of_imports_has_more_than_two_files() -> None:
    assert list_cycles(ROOT) == []


def test_no_import_is_hidden_in_a_string() -> None:
    assert [*list_hidden_imports(ROOT)] == []


def test_a_planted_cycle_and_a_planted_string_are_named(tmp_path: Path) -> None:
    for name in ("snippets", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    room = tmp_path / "snippets" / "xla_inspect"
    with (room / "captured" / "capture.py").open("a", encoding="utf-8") as file:
        file.write("def show():\n    from xla_inspect.questions.summary import summarize\n    return summarize\n")
    with (room / "hlo" / "shape.py").open("a", encoding="utf-8") as file:
        file.write('import importlib\nimportlib.import_module(f"xla_inspect.{len(__name__)}")\n')
    (cycle,) = list_cycles(tmp_path)
    assert {"xla_inspect.captured.capture", "xla_inspect.questions.summary"} <= set(cycle)
    assert [place.partition(":")[0] for place in list_hidden_imports(tmp_path)] == ["snippets/xla_inspect/hlo/shape.py"]
