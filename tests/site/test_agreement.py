"""Pages that state the same fact state it alike."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import pytest

from authoring import expected_outputs
from common import ROOT
from livepage import render_one
from programs import attention, layer, softmax, transformer_block
from programs.gallery import GALLERY_TARGETS
from xla_inspect import TARGETS, capture
from xla_inspect.analysis import list_kernels
from xla_inspect.releases import read_releases
from xla_inspect.report import in_words, short, title

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


@cache
def read_text(page: str) -> str:
    """Return the text of a page, with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", render(page)).split())


def find(page: str, pattern: str) -> tuple[str, ...]:
    """Return the groups of the first match of a pattern in the text of a page."""
    match = re.search(pattern, read_text(page))
    assert match is not None, (page, pattern)
    return match.groups()


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
        expect(program, dict(zip(GALLERY_TARGETS, map(int, numbers), strict=True)), *GALLERY_TARGETS)
        own = read_table(html.partition(f'id="{section}"')[2], "targets")[1:]
        page_totals = {name: int(number) for names, number, *_ in own for name in names.split(", ")}
        assert page_totals == {short(target): count(program, target) for target in GALLERY_TARGETS}


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


def test_home_counts_the_kernels_of_its_softmax_as_its_chapters_do() -> None:
    numbers = re.findall(r"(CPU|NVIDIA H100|TPU v5e) (\d+) kernels?\b", read_text("index.md"))
    expect("softmax", {target: int(dict(numbers)[title(target)]) for target in USUAL})


def test_pages_count_the_passes_of_the_layer_and_their_changes_alike() -> None:
    rows = {name: numbers for name, *numbers in read_table(render("pipeline.md"), "Number of")}
    runs, different, reported, visible = list(rows.values())[1:]
    drawing = render("pipeline.md").partition('<figure class="stages">')[2]
    drawn = re.findall(r"<b>(\d+)</b> runs, <b>(\d+)</b> changes of the text", drawing)[:3]
    assert drawn == list(zip(runs, visible, strict=True))
    counts = re.findall(r"(\d+) different passes in (\d+) runs; (\d+) runs reported a change", read_text("ledger.md"))
    assert counts == list(zip(different, runs, reported, strict=True))
    times = r"(\d+) times for the CPU, (\d+) times for the H100 and (\d+) times for the TPU"
    assert list(find("one-day.md", f"passes ran {times}")) == runs
    assert [row[1] for row in read_table(render("layout.md"), "different passes that ran")[1:]] == different


def test_layout_and_the_ledger_count_the_passes_of_all_targets_alike() -> None:
    every, common = map(int, find("layout.md", r"Of (\d+) pass names .*? the layer , (\d+) are common"))
    names = r"passes on all three targets: (\d+) names .*?passes on one or two targets: (\d+) names"
    assert find("ledger.md", names) == (str(common), str(every - common))


def test_the_boxes_of_a_graph_and_the_folded_instructions_are_those_of_its_entry() -> None:
    captions = re.findall(
        r"layer on ([\w ]+): (\d+) boxes; (\d+) instructions without work are folded", read_text("reading-hlo.md")
    )
    function, example = PROGRAMS["layer"]
    modules = {title(target): capture(function, *example, target=target).module for target in USUAL}
    assert {name: int(boxes) + int(folded) for name, boxes, folded in captions} == {
        name: len(module.entry) for name, module in modules.items()
    }


def test_pages_give_the_same_operations_of_a_matrix_unit_for_each_precision() -> None:
    header, *rows = read_table(render("low-precision.md"), "TPU v6e")
    column = header.index("TPU v6e")
    operations = {row[0]: int(row[column].partition(" ")[0].replace(",", "")) for row in rows}
    (times,) = find("below-hlo.md", r"matrix units run (\d+) times as many operations")
    (passes,) = find("below-hlo.md", r"passes over the operands, and highest needs (\d+)")
    assert operations["float32, highest precision"] / operations["float32"] == int(times) == 2 * int(passes)
    assert operations["float8_e4m3fn"] == 2 * operations["bfloat16"]


def test_pages_give_the_split_matmul_of_the_h100_the_same_memory_and_traffic() -> None:
    (memory,) = find("pipeline.md", r"four partial results need ([\d.]+ KiB)")
    assert find("pipeline.md", r"H100 [\d.]+ KiB in and out, ([\d.]+ KiB) between") == (memory,)
    assert find("ledger.md", r"After fusion, all data .*?H100 ([\d.]+ KiB)") == (memory,)
    rows = {row[0]: row[-2:] for row in read_table(render("autotuning.md"), "bytes moved")}
    assert rows["as on this site"][1] == memory
    alone = find("fusion.md", r"switched off, the H100 launches one kernel and moves ([\d.]+ KiB)")
    assert rows["without split-K"] == [*alone, "0 B"]
    traffic = {row[0].partition(" by ")[0]: row[2] for row in read_table(render("fusion.md"), "traffic in main memory")}
    assert rows["as on this site"][0] == traffic["NVIDIA H100"]


def test_pages_give_the_vectors_of_the_cpu_the_same_width() -> None:
    (floats,) = find("below-hlo.md", r"LLVM IR or x86 a vector of (\d+) floats")
    widths = {cell for row in read_table(render("below-hlo.md"), "vector width") for cell in row if "bits" in cell}
    assert widths == {f"{32 * int(floats)} bits"}
    assert find("frameworks.md", "Each innermost loop advances by (\\w+) floats") == (in_words(int(floats)),)
