"""The rewriting of asserts in a notebook's process, so that the notebook's checks fail like those of pages."""

from __future__ import annotations

import ast
from typing import Any

from livepage.run.asserts import HELPER, Asserts
from livepage.run.rewriter import make_call, place_node, rewrite


class _Cells(ast.NodeTransformer):
    """The transformer that rewrites the asserts of each cell, and tests at its end that they checked something."""

    def __init__(self, asserts: Asserts, *, is_whole: bool) -> None:
        self.asserts, self.is_whole = asserts, is_whole

    def visit_Module(self, node: ast.Module) -> ast.Module:
        sites = rewrite(node, self.asserts)
        # A cell shows its last expression, so the tests of the asserts are inserted before that expression.
        at = len(node.body) - isinstance(node.body[-1] if node.body else None, ast.Expr)
        for number, site in enumerate(sites, len(self.asserts.sites) - len(sites)):
            ask = ast.Expr(make_call("judge", ast.Constant(number), ast.Constant(self.is_whole)))
            place_node(ask, ast.Constant(None, lineno=site.line, col_offset=0, end_lineno=site.line, end_col_offset=0))
            node.body.insert(at, ask)
            at += 1
        return node


def install_asserts(*, is_whole: bool) -> None:
    """Make the cells of this notebook process fail like a page's checks; `is_whole` says that no target is missing."""
    import IPython

    shell: Any = IPython.get_ipython()
    asserts = Asserts()
    shell.user_ns_hidden[HELPER] = shell.user_ns[HELPER] = asserts
    shell.ast_transformers.append(_Cells(asserts, is_whole=is_whole))
