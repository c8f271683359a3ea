"""Lighthouse, as on a phone with a slow network: full scores for accessibility, practices and search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests import turns

from .conftest import CHAPTER, sources
from .host import serve

if TYPE_CHECKING:
    from pathlib import Path

    from .host import Site
    from .node import RunNode

pytestmark = pytest.mark.long("tools of others judge every page")


def find_failures(run_node: RunNode, chromium: str, addresses: list[str]) -> dict[str, list[str]]:
    """Return the scores below 100 by address, without performance scores and without addresses that have none."""
    result = run_node("audit.mjs", chromium, *addresses)
    assert result.returncode == 0, result.stderr[-2000:]
    failures_by_page: dict[str, list[str]] = json.loads(result.stdout)
    assert list(failures_by_page) == addresses
    return {address: failures for address, failures in failures_by_page.items() if failures}


def test_pages_have_full_scores(site: Site, chromium: str, run_node: RunNode) -> None:
    """Check the pages whose turn it is, without 404.html, which search engines must not list."""
    in_turn = turns.choose([*sources().values()])
    paths = [path for path, source in sources().items() if source in in_turn or path == CHAPTER]
    assert find_failures(run_node, chromium, [f"{site.address}/{path}" for path in paths]) == {}


PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>A page</title><link rel="icon" href="data:,"><meta name="description" content="A page.">
<meta name="viewport" content="width=device-width,initial-scale=1"></head>
<body><main><h1>A page</h1>{}</main></body></html>"""
PLANTED = {
    "404": "<p>There is no page here.</p>",
    "fine": '<p>As <a href="fine.html">arrays in JAX</a> are.</p>',
    "link-text": '<p>They differ. <a href="fine.html">More</a></p>',
    "crawlable-anchors": '<p><a onclick="go()">The arrays</a></p>',
    "image-alt": '<p><img src="data:," width="9" height="9"></p>',
    "errors-in-console": "<script>missing()</script>",
}


def test_a_page_without_full_scores_is_found(chromium: str, run_node: RunNode, tmp_path: Path) -> None:
    for name, body in PLANTED.items():
        (tmp_path / f"{name}.html").write_text(PAGE.format(body), encoding="utf-8")
    with serve(tmp_path) as planted:
        addresses = {f"{planted.address}/{name}.html": name for name in PLANTED}
        faults = find_failures(run_node, chromium, list(addresses))
    names = {
        addresses[address]: [failure.partition(":")[0] for failure in failures] for address, failures in faults.items()
    }
    assert names == {name: [name] for name in PLANTED if name not in {"404", "fine"}}
