"""The rules for docstrings and names in code, which the contributing reference states.

    uv run python -m lint.plain_code [snippets/xla_inspect/hlo ...]

* A docstring does not begin with a question word. It names the thing, or says in the imperative what a function does.
* No local name or argument is a past participle. `found` or `told` describes an event; `instruction` or `message`
  describes the value.

`plain_code.toml` lists the forbidden words, and the packages that have not been rewritten yet.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Path(__file__).with_suffix(".toml")
FOLDERS = ("snippets", "scripts", "tests")

type _Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def check_module(path: Path, root: Path = ROOT) -> list[str]:
    """Return a message for each docstring and name of a module that breaks a rule, in the order of lines.

    Args:
        path: The Python file.
        root: The project; messages name the file relative to it.
    """
    name = path.relative_to(root).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    messages = [*_check_docstrings(tree), *_check_names(tree)]
    return [f"{name}:{line}: {message}" for line, message in sorted(messages)]


def list_modules(root: Path = ROOT) -> list[Path]:
    """Return the Python files to which the rules apply, without those of pending packages."""
    pending = [root / package for package in _read_rules()["pending"]]
    return [path for path in _list_files(root) if not any(path.is_relative_to(package) for package in pending)]


def list_clean_packages(root: Path = ROOT) -> list[str]:
    """Return the packages that are listed as pending although nothing in them breaks a rule any more."""
    return [
        package
        for package in _read_rules()["pending"]
        if not any(check_module(path, root) for path in _list_files(root) if path.is_relative_to(root / package))
    ]


def _list_files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((root / folder).rglob("*.py"))


def _check_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        # Each string that stands alone is a docstring: of a module, a class, a function, or of the name above it.
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))) if text.strip():
                word = text.split()[0]
                if word.lower() in _read_rules()["question_words"]:
                    yield node.lineno, f"the docstring begins with {word!r}: name the thing or the action"


def _check_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    participles = _read_rules()["participles"]
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTIONS):
            for name in sorted(_list_own_names(function)):
                if name in participles:
                    yield function.lineno, f"{name!r} in {function.name} is a participle: use a noun for the value"


def _list_own_names(function: _Function) -> set[str]:
    """Return the names that a function binds, including its arguments, without those of functions inside it."""
    names = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    nodes: list[ast.AST] = [*function.body]
    while nodes:
        node = nodes.pop()
        # A function inside this one is reported under its own name.
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        nodes.extend(ast.iter_child_nodes(node))
    return names


@cache
def _read_rules() -> dict[str, Any]:
    """Return the content of `plain_code.toml`."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def main() -> None:
    """Check the modules of the packages that the command line names, or all modules that are not pending."""
    packages = [Path(argument).resolve() for argument in sys.argv[1:]]
    modules = (
        [path for path in _list_files(ROOT) if any(path.is_relative_to(package) for package in packages)]
        if packages
        else list_modules()
    )
    messages = [message for module in modules for message in check_module(module)]
    print("\n".join(messages) or f"{len(modules)} modules follow the rules")
    sys.exit(bool(messages))


if __name__ == "__main__":
    main()
