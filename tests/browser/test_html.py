"""The HTML of every page and of the stand-alone report is valid, and every link has a target."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Protocol

import pytest

from xla_inspect.report.explorer import write_report

from .links import leads_somewhere, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from xla_inspect import Captures

    from .host import Site
    from .node import RunNode

PROGRAM = "node_modules/html-validate/bin/html-validate.mjs"
CONFIG = {
    "root": True,
    "extends": ["html-validate:standard"],
    "rules": {"no-unknown-attributes": "error", "heading-level": "error"},
}
# What is found and stays, by the rule and the beginning of what it says.
STAYS = {
    # The theme's switches of drawer and search; they stand outside every block of its template.
    ("valid-autocomplete", 'autocomplete attribute cannot be used on <input type="checkbox">'),
    # RDFa, as Open Graph has it.
    ("no-unknown-attributes", 'Attribute "property" is not allowed on <meta>'),
    # The validator knows none of SVG's.
    ("no-unknown-attributes", 'Attribute "viewBox" is not allowed on <svg>'),
    ("no-unknown-attributes", 'Attribute "xmlns" is not allowed on <svg>'),
}
FRAME = '<!DOCTYPE html>\n<html lang="en"><head><title>A</title></head><body>{}</body></html>'


class Validate(Protocol):
    """A function that returns the faults of HTML files, each as `file:line: rule: message`."""

    def __call__(self, paths: Iterable[Path]) -> list[str]: ...


@pytest.fixture(scope="session")
def validate(run_node: RunNode, tmp_path_factory: pytest.TempPathFactory) -> Validate:
    """A function that checks HTML files with the pinned validator."""
    folder = tmp_path_factory.mktemp("validator")
    config, answer = folder / "config.json", folder / "answer.json"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")

    def validate(paths: Iterable[Path]) -> list[str]:
        result = run_node(PROGRAM, "--config", str(config), "--formatter", f"json={answer}", *map(str, paths))
        assert result.returncode in {0, 1}, result.stderr
        return [
            f"{file['filePath']}:{fault['line']}: {fault['ruleId']}: {fault['message']}"
            for file in json.loads(answer.read_text(encoding="utf-8"))
            for fault in file["messages"]
            if not any(fault["ruleId"] == rule and fault["message"].startswith(message) for rule, message in STAYS)
        ]

    return validate


@pytest.mark.long("tools of others judge every page")
def test_every_page_is_valid(validate: Validate, site: Site) -> None:
    assert validate(site.folder / path for path in site.html) == []


class Links(HTMLParser):
    """An HTML parser that collects the targets of a page's links and resources in `targets`."""

    def __init__(self, text: str) -> None:
        """Parse the HTML of a page."""
        super().__init__()
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the `href` and `src` of a tag to the targets, except those of `base`."""
        self.targets |= {value or "" for name, value in attrs if name in {"href", "src"} and tag != "base"}


def find_dead(folder: Path, pages: Iterable[str]) -> list[str]:
    """Return each link of pages that leads to no file of the site or to no place in it, as `page: link`."""
    links = ((page, target) for page in pages for target in Links(read(folder / page)).targets)
    return sorted(f"{page}: {target}" for page, target in links if not leads_somewhere(folder / page, target))


def test_every_link_has_a_target_page_and_anchor(site: Site) -> None:
    """Links in HTML that a block printed are checked too, although MkDocs does not read them."""
    assert find_dead(site.folder, [page for page in site.html if page != "404.html"]) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    linked = '<a href="{}">a</a>'
    fine = ["b/", "b/index.html", "./b/#here", "#top", "b/?h=a", "#x=state&y=1", "https://example.org/", "c.txt", "."]
    dead = ["b/none.html", "none/", "b/#there", "#none", "../c.txt"]
    (tmp_path / "index.html").write_text('<p id="top">' + "".join(map(linked.format, fine + dead)), encoding="utf-8")
    (tmp_path / "b" / "index.html").write_text('<p id="here"><a href="../#top"><img src="none.png">', encoding="utf-8")
    (tmp_path / "c.txt").touch()
    assert find_dead(tmp_path, ["index.html", "b/index.html"]) == sorted(
        [*(f"index.html: {link}" for link in dead), "b/index.html: none.png"]
    )


def test_a_report_is_valid(validate: Validate, layer: Captures, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(write_report(layer), encoding="utf-8")
    assert validate([path]) == []


@pytest.mark.long("tools of others judge every page")
@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("<p><figure>a</figure></p>", "close-order"),
        ('<script src="a.js" defer defer></script>', "no-dup-attr"),
        ('<p tabindex="">a</p>', "attribute-allowed-values"),
        ('<figure markdown="0">a</figure>', "no-unknown-attributes"),
        ("<span><div>a</div></span>", "element-permitted-content"),
        ('<p id="a">a</p><p id="a">b</p>', "no-dup-id"),
        ("<p>a & b < c</p>", "no-raw-characters"),
        ("<h1>a</h1><h3>b</h3>", "heading-level"),
    ],
)
def test_invalid_html_is_found(validate: Validate, tmp_path: Path, planted: str, rule: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(FRAME.format(planted), encoding="utf-8")
    assert [fault.split(": ")[1] for fault in validate([path])] == [rule]
