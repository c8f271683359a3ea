"""The borders of the engine: packages use each other's exports only, and none mentions compilers."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "scripts" / "livepage"
ROOMS = sorted(path.parent.name for path in ENGINE.glob("*/__init__.py"))
SUBJECT = re.compile(
    r"(?<![a-z])(?:xla|hlo|stablehlo|jaxpr|jaxlib|jax|libtpu|tpu|gpu|cuda|nvidia|mlir|llvm|ptx|pallas)(?![a-z])",
    re.IGNORECASE,
)


@cache
def list_imports(path: Path) -> list[tuple[str, str]]:
    """Return package and name of each import from a package of the engine; a submodule includes its package."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = "\n".join(re.findall(r"^from livepage.*$", text, re.MULTILINE))
    inside = re.compile(rf"livepage\.(?:{'|'.join(ROOMS)})\b")
    return [
        (node.module.removeprefix("livepage."), alias.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module and inside.match(node.module)
        for alias in node.names
    ]


@cache
def list_users() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "docs/*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def test_packages_of_the_engine_use_only_each_others_exports() -> None:
    broken = []
    for path in list_users():
        name = path.relative_to(ROOT).as_posix()
        for module, exported in list_imports(path):
            room, _, inner = module.partition(".")
            own = f"scripts/livepage/{room}/" in name or name.startswith("tests/livepage/")
            if not own and (inner or exported not in importlib.import_module(f"livepage.{room}").__all__):
                broken.append(f"{name}: {module}.{exported}")
    assert broken == []


@pytest.mark.parametrize("room", ROOMS)
def test_exports_of_engine_packages_are_documented_and_used(room: str) -> None:
    exported = importlib.import_module(f"livepage.{room}")
    users = [path for path in list_users() if f"scripts/livepage/{room}/" not in path.as_posix()]
    used_names = {member for path in users for module, member in list_imports(path) if module == room}
    assert sorted(set(exported.__all__) - used_names) == []
    things = [getattr(exported, name) for name in exported.__all__]
    documented = [thing for thing in things if isinstance(thing, ModuleType | type) or inspect.isfunction(thing)]
    assert [thing.__name__ for thing in documented if not inspect.getdoc(thing)] == []


def test_the_engine_does_not_mention_compilers() -> None:
    files = [path for path in ENGINE.rglob("*") if path.suffix in {".py", ".j2"}]
    mentions = [
        f"{path.relative_to(ROOT)}: {name_match[0]}"
        for path in sorted(files)
        for name_match in SUBJECT.finditer(path.read_text(encoding="utf-8"))
    ]
    assert mentions == []


CACHES = {"_hashes", "_loaded"}
STATE = {"_guards", "_inside", "_listeners", "_site", "_watches", "project"}
"""The allowed variables: the project, state between MkDocs' events, and listeners of permanent audit hooks."""


def test_mutable_module_state_is_a_cache_or_listed() -> None:
    mutable_names = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            name = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value
            is_empty = isinstance(value, ast.List | ast.Dict) and not ast.unparse(value)[1:-1]
            is_made = isinstance(value, ast.Call) and not value.args and not value.keywords
            if isinstance(name, ast.Name) and (is_empty or is_made) and not name.id.strip("_").isupper():
                mutable_names.add(name.id)
    assert mutable_names == CACHES | STATE
