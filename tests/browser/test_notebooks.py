"""The pages and downloads of the practice notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

if TYPE_CHECKING:
    from .conftest import Opener
    from .host import Site

DOCS = Path(__file__).resolve().parents[2] / "docs"
MOST_BYTES = 104 * 1024  # the notebook on HLO shows three targets, and its jaxpr beside each


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test each notebook, or those that `--page` named, by its path in the built site."""
    if "notebook" in metafunc.fixturenames:
        chosen = [Path(page).resolve() for page in metafunc.config.getoption("--page")]
        notebooks = [path for path in sorted(DOCS.rglob("*.py")) if not chosen or path in chosen]
        metafunc.parametrize("notebook", [path.relative_to(DOCS).with_suffix("").as_posix() for path in notebooks])


def test_a_notebook_is_a_small_page(site: Site, notebook: str) -> None:
    assert (site.folder / notebook / "index.html").stat().st_size <= MOST_BYTES


@pytest.mark.long("otherwise one search and one notebook stand for all", but=["practice/hlo"])
def test_a_notebook_can_be_downloaded(site: Site, open_page: Opener, notebook: str) -> None:
    """The downloaded notebook is valid and has no output, and each of its cells has a unique id."""
    page = open_page(f"{notebook}/")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the notebook").click()
    name = f"{Path(notebook).name}.ipynb"
    assert waiting.value.suggested_filename == name
    downloaded = nbformat.read((site.folder / notebook).with_suffix(".ipynb"), as_version=4)
    nbformat.validate(downloaded)
    assert [cell for cell in downloaded.cells if cell.get("outputs")] == []
    assert len({cell.id for cell in downloaded.cells}) == len(downloaded.cells)
    assert sum(cell.source.startswith("%%exercise") for cell in downloaded.cells) > 0


def test_only_the_page_and_its_downloads_are_served(site: Site) -> None:
    """No Python file is served except the programs that a page offers to edit, which are in one folder."""
    offered = site.folder / "assets" / "programs"
    assert [path.name for path in site.folder.rglob("*.py") if path.parent != offered] == []
