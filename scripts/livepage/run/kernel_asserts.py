"""Let the check of a notebook fail as that of a page does; loaded by the processes that run notebooks."""

from __future__ import annotations

import ast
from typing import Any

from livepage.run.asserts import HELPER, Asserts
from livepage.run.rewriter import make_call, place_node, rewrite


class _Cells(ast.NodeTransformer):
    """Rewrites the asserts of each cell of a notebook, and lets those at its end say whether they held anything."""

    def __init__(self, asserts: Asserts, *, is_whole: bool) -> None:
        self.asserts, self.is_whole = asserts, is_whole

    def visit_Module(self, node: ast.Module) -> ast.Module:
        sites = rewrite(node, self.asserts)
        at = len(node.body) - isinstance(node.body[-1] if node.body else None, ast.Expr)
        for number, site in enumerate(sites, len(self.asserts.sites) - len(sites)):
            ask = ast.Expr(make_call("judge", ast.Constant(number), ast.Constant(self.is_whole)))
            place_node(ask, ast.Constant(None, lineno=site.line, col_offset=0, end_lineno=site.line, end_col_offset=0))
            node.body.insert(at, ask)
            at += 1
        return node


def install_asserts(*, is_whole: bool) -> None:
    """Let the cells of this process, which is a notebook's, fail as a page's checks do."""
    import IPython

    shell: Any = IPython.get_ipython()
    asserts = Asserts()
    shell.user_ns_hidden[HELPER] = shell.user_ns[HELPER] = asserts
    shell.ast_transformers.append(_Cells(asserts, is_whole=is_whole))
