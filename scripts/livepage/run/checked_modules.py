"""Modules whose asserts report to the page that calls them, like the asserts of the page's own checks."""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import project, relative
from livepage.run.asserts import HELPER
from livepage.run.rewriter import rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import CodeType, ModuleType

    from livepage.run.asserts import Asserts, Site


@contextmanager
def rewrite_imports(asserts: Asserts) -> Iterator[None]:
    """Make the asserts of check modules imported in the `with` block report to `asserts`; loaded ones are unloaded."""
    # Without `fresh_modules`, modules that are still loaded would report to the page that ran before this one.
    for name in [name for name in sys.modules if name.partition(".")[0] in project.adapter.checks]:
        del sys.modules[name]
    finder = _Finder(asserts)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def show_functions(sites: Iterable[Site]) -> str:
    """Return the source of the functions that contain these asserts, as one text."""
    lines: dict[str, set[int]] = {}
    for site in sites:
        lines.setdefault(site.file, set()).add(site.line)
    functions = []
    for file, asserts in lines.items():
        text = (project.root / file).read_text(encoding="utf-8")
        functions += [
            ast.get_source_segment(text, node) or ""
            for node in ast.parse(text).body
            if not asserts.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        ]
    return "\n\n".join(functions)


class _Finder(MetaPathFinder):
    def __init__(self, asserts: Asserts) -> None:
        self.asserts = asserts

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in project.adapter.checks:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.origin and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.origin, self.asserts)
        return spec


class _Loader(SourceFileLoader):
    """The loader that compiles a module with rewritten asserts, without using or changing Python's cached bytecode."""

    def __init__(self, fullname: str, path: str, asserts: Asserts) -> None:
        super().__init__(fullname, path)
        self.asserts = asserts

    def get_code(self, fullname: str) -> CodeType | None:
        text = self.get_data(self.path)
        # Modules without asserts can use Python's cached bytecode.
        if b"assert " not in text:
            return super().get_code(fullname)
        tree = ast.parse(text, self.path)
        for site in rewrite(tree, self.asserts):
            site.file = relative(Path(self.path), project.root)
            site.must_run = False
        return compile(tree, self.path, "exec", dont_inherit=True, optimize=0)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[HELPER] = self.asserts
        super().exec_module(module)
