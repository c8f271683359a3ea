"""All pages give the same number of kernels for a program."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import pytest

from authoring import expected_outputs
from common import ROOT
from livepage import render_one
from programs import attention, layer, softmax, transformer_block
from xla_inspect import TARGETS, capture
from xla_inspect.analysis import list_kernels
from xla_inspect.releases import read_releases
from xla_inspect.report import short, title

USUAL = ("cpu", "h100", "tpu-v5e")
PROGRAMS = {
    "layer": (layer.layer, layer.EXAMPLE),
    "softmax": (softmax.softmax, softmax.EXAMPLE),
    "attention": (attention.attention, attention.EXAMPLE),
    "transformer_block": (transformer_block.transformer_block, transformer_block.EXAMPLE),
}
"""The programs that several pages count, by the names of their files."""

pytestmark = pytest.mark.usefixtures("all_targets")


@cache
def count(program: str, target: str) -> int:
    """Return the number of kernels of a program by the project's definition."""
    function, example = PROGRAMS[program]
    return len(list_kernels(capture(function, *example, target=target)))


@cache
def render(page: str) -> str:
    html, failures = render_one.render_page(ROOT / "docs" / page, ROOT)
    assert failures == []
    return unescape(html)


def expect(program: str, page_counts: dict[str, int], *targets: str) -> None:
    """Assert that the numbers that a page states, by target, agree with the definition."""
    assert page_counts == {target: count(program, target) for target in targets or USUAL}


def read_bars(html: str, label: str, unit: str = "") -> dict[str, int]:
    """Return the numbers in a bar chart under a label, by target."""
    titles = re.findall(rf"<title>{re.escape(label)}, ([^:<]*): ([\d,]+){unit}</title>", html)
    targets = {title(target): target for target in TARGETS}
    return {targets[name]: int(number.replace(",", "")) for name, number in titles if name in targets}


def read_table(html: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table one of whose headings is this, as text."""
    table = next(part for part in re.findall(r"<table.*?</table>", html, re.DOTALL) if f">{heading}</th>" in part)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]


@pytest.mark.parametrize(
    ("program", "label"), [("layer", "relu(x @ w + b)"), ("softmax", "softmax"), ("attention", "attention")]
)
def test_fusion_draws_and_names_as_many(program: str, label: str) -> None:
    _, _, rest = render("fusion.md").partition('id="kernels"')
    expect(program, read_bars(rest, label))
    row = next(row for row in re.findall(r"<tr[^>]*>(.*?)</tr>", rest, re.DOTALL) if f"<b>{label}</b>" in row)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[1:]
    expect(program, {target: cell.count("<code>") for target, cell in zip(USUAL, cells, strict=True)})


def test_the_drawings_and_the_table_of_the_pipeline_say_as_many() -> None:
    html = render("pipeline.md")
    drawings = re.findall(r'<figure class="stages">.*?</figure>', html, re.DOTALL)
    for program, drawing in zip(("layer", "transformer_block"), drawings, strict=True):
        totals = re.findall(r"<dt>([^<]*)</dt><dd><b>[\d,]+</b> instructions?, <b>([\d,]+)</b> kernels?</dd>", drawing)
        expect(program, {target: int(dict(totals)[title(target)]) for target in USUAL})
    last = next(row for row in read_table(html, "kernels") if row[0] == "all kernels")
    expect("transformer_block", {target: int(number) for target, number in zip(USUAL, last[1:], strict=True)})


def test_the_matrix_of_the_gallery_says_as_many_and_so_does_each_program_of_its() -> None:
    html = render("gallery.md")
    tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
    matrix = next(table for table in tables if "<caption>Number of kernels" in table)
    for program, section in (("layer", "layer"), ("softmax", "softmax"), ("transformer_block", "block")):
        row = re.search(rf'<tr><th scope="row"><a href="#{section}">.*?</tr>', matrix, re.DOTALL)
        assert row is not None, section
        numbers = re.findall(r"<td[^>]*>(\d+)</td>", row[0])
        expect(program, dict(zip(TARGETS, map(int, numbers), strict=True)), *TARGETS)
        own = read_table(html.partition(f'id="{section}"')[2], "targets")[1:]
        page_totals = {name: int(number) for names, number, *_ in own for name in names.split(", ")}
        assert page_totals == {short(target): count(program, target) for target in TARGETS}


def test_the_questions_say_as_many_of_the_layer() -> None:
    rows = read_table(render("questions.md"), "instructions")[1:]
    assert {name: int(kernels) for name, _, kernels in rows} == {
        title(target): count("layer", target) for target in TARGETS
    }


def test_the_page_of_releases_draws_as_many_for_the_pinned_one() -> None:
    newest = read_releases(ROOT / "docs/data/drift")[-1].jax
    expect("transformer_block", read_bars(render("what-changed.md").rpartition("Transformer block")[0], newest))


def test_peers_say_as_many_of_the_layer() -> None:
    rows = {row[0]: row[1] for row in read_table(render("peers.md"), "kernels")}
    numbers = {target: rows[f"XLA, {title(target)}"].removesuffix(" by cost model") for target in USUAL}
    expect("layer", {target: int(number) for target, number in numbers.items()})


@pytest.mark.parametrize("page", ["pipeline.md", "one-day.md"])
def test_where_the_kernels_of_the_layer_are_named_there_are_as_many(page: str) -> None:
    listed = re.findall(r'<span class="value">([^<]*fusion[^<]*)</span>', render(page))
    numbers = [len(names.split(", then ")) for names in listed]
    assert numbers[:3] == [count("layer", target) for target in USUAL]


@pytest.mark.parametrize("program", PROGRAMS)
def test_records_of_the_pinned_release_and_expected_outputs_say_as_many(program: str) -> None:
    newest = read_releases(ROOT / "docs/data/drift")[-1]
    expect(program, {target: newest.programs[program].outcomes[target].count("kernel") for target in USUAL})
    kernels = {}
    for target in USUAL:
        text = expected_outputs.locate(program, target).read_text(encoding="utf-8")
        kernels[target] = len(
            re.findall(r"^  ", re.split(r"^\S", text.partition("\n")[2], flags=re.MULTILINE)[0], re.MULTILINE)
        )
    expect(program, kernels)
