"""The list of passes as HTML: targets, changes and examples, with every text escaped."""

from __future__ import annotations

import re

import pytest

from chapters import pass_cards
from chapters.pass_index import Example, PassRecord, PassUse
from chapters.pass_rows import PassRow
from xla_inspect.analysis.reasons import list_messages

TARGETS = ("cpu", "h100", "h200", "tpu-v5e")
LINE = '%a = f32[8] custom-call(%x), custom_call_target="<script>"'


@pytest.fixture(scope="module")
def catalog() -> pass_cards.PassCatalog:
    """Four passes: one on all targets, one on a GPU, a closed one, and a pipeline that changes nothing."""
    rows = {
        "algsimp": PassRow("algsimp", "Simplifies a < b.", ("xla/algebraic_simplifier.cc",)),
        "late": PassRow("late", "Fuses.", ("xla/service/instruction_fusion.cc",)),
        "a b": PassRow("a b", "Its name suggests that it does.", ("libtpu",)),
        "all": PassRow("all", "A pipeline.", ("libtpu",)),
    }
    example = Example("layer", "h100", "removed 1 add", (LINE,), (LINE[:20] + "…",), 2)
    uses = {target: PassUse(4, 2, ["layer"], ["layer"]) for target in TARGETS}
    records = {
        "algsimp": PassRecord("algsimp", {**uses, "tpu-v5e": PassUse(3)}, ["all", "<p>"], [], example),
        "late": PassRecord("late", {"h200": PassUse(1, 1, ["mlp"])}, ["all"]),
        "a b": PassRecord("a b", {"tpu-v5e": PassUse(1)}, ["all"]),
        "all": PassRecord("all", {"tpu-v5e": PassUse(1)}, ["top"], ["algsimp", "a b"]),
    }
    titles = {"layer": "relu(x & w)", "mlp": "MLP"}
    return pass_cards.PassCatalog(rows, records, titles, TARGETS, ("cpu", "h100", "tpu-v5e"))


def card(catalog: pass_cards.PassCatalog, name: str) -> str:
    """Return the HTML of the entry of a pass."""
    return pass_cards.list_cards([name], catalog)


def test_an_entry_has_an_address_a_sentence_and_its_source(catalog: pass_cards.PassCatalog) -> None:
    html = card(catalog, "algsimp")
    assert '<details class="opcode" id="algsimp">' in html
    assert "Simplifies a &lt; b." in html
    assert f'<a href="{pass_cards.SOURCE}xla/algebraic_simplifier.cc">' in html
    assert "<code>&lt;p&gt;</code>" in html
    assert 'id="a_b"' in card(catalog, "a b")
    assert "Source: libtpu, which is closed source." in card(catalog, "a b")


def test_a_kind_of_target_says_whether_all_of_it_runs_the_pass_and_whether_it_changes_anything(
    catalog: pass_cards.PassCatalog,
) -> None:
    marks = {name: re.findall(r'<i class="([^"]*)">([^<]*)</i>', card(catalog, name)) for name in catalog.rows}
    assert marks == {
        "algsimp": [("cpu", "CPU"), ("gpu", "GPU"), ("tpu lost", "TPU")],
        "late": [("gpu", "some GPUs")],
        "a b": [("tpu lost", "TPU")],
        "all": [("tpu lost", "TPU")],
    }


def test_the_number_of_changes_is_shown_by_target(catalog: pass_cards.PassCatalog) -> None:
    definitions = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", card(catalog, "algsimp"))
    assert definitions == [
        ("CPU", "changed 1 of 2 programs, in 2 of 4 runs"),
        ("NVIDIA H100", "changed 1 of 2 programs, in 2 of 4 runs"),
        ("TPU v5e", "changed nothing in 3 runs"),
    ]
    assert re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", card(catalog, "late")) == [
        ("NVIDIA H200", "changed 1 of 2 programs, in 1 of 1 run")
    ]
    assert "<dl>" not in card(catalog, "a b")


def test_a_change_not_visible_in_the_text_is_marked(catalog: pass_cards.PassCatalog) -> None:
    use = PassUse(4, 4, ["layer", "mlp"], [])
    changed_records = {**catalog.seen, "algsimp": PassRecord("algsimp", {"cpu": use}, ["all"])}
    quiet = pass_cards.PassCatalog(catalog.rows, changed_records, catalog.titles, TARGETS, catalog.usual)
    assert "; the text of the module shows only another order, other numbers or other metadata<" in card(
        quiet, "algsimp"
    )
    use.shows.append("mlp")
    assert "in 4 of 4 runs; the text of the module shows a change in 1 of them<" in card(quiet, "algsimp")


def test_an_example_is_escaped_and_a_line_that_was_cut_has_no_mark_of_an_error(catalog: pass_cards.PassCatalog) -> None:
    html = card(catalog, "algsimp")
    assert "<p>Its smallest change (H100, relu(x &amp; w)): removed 1 add.</p>" in html
    assert "<script>" not in html
    assert 'class="err"' not in html
    assert '<span class="gi">+</span> %a = f32[8] custom-c…' in html
    assert "... 2 more lines" in html


def test_a_pipeline_leads_to_what_it_runs(catalog: pass_cards.PassCatalog) -> None:
    assert 'It runs <a href="#algsimp"><code>algsimp</code></a>, <a href="#a_b"><code>a b</code></a>.' in card(
        catalog, "all"
    )


def test_passes_are_ranked_by_programs_and_told_apart_by_kind(catalog: pass_cards.PassCatalog) -> None:
    assert catalog.ranked == ["algsimp", "a b", "all", "late"]
    assert catalog.most(9) == ["algsimp", "a b", "late"]
    assert catalog.of_kinds({"cpu", "gpu", "tpu"}) == ["algsimp"]
    assert catalog.of_kinds({"gpu"}, {"cpu"}) == ["late"]
    assert catalog.of_kinds({"tpu"}) == []
    assert catalog.quiet() == ["a b", "all"]
    assert catalog.count_programs("algsimp", TARGETS) == ["1", "1", "1", "0"]
    assert catalog.count_programs("late", ["cpu", "h200"]) == ["", "0"]


def test_the_search_finds_only_passes_with_changes(catalog: pass_cards.PassCatalog) -> None:
    assert pass_cards.list_entries(catalog) == [
        ("algsimp", "", "algsimp"),
        ("late", "", "late"),
        ("a_b", "", ""),
        ("all", "", ""),
    ]


def test_an_entry_listed_twice_has_one_address(
    catalog: pass_cards.PassCatalog,
) -> None:
    fold = pass_cards.fold_cards("2 & more", catalog.quiet(), catalog)
    assert fold.startswith('<details class="listing"><summary>2 &amp; more</summary><div class="opcodes passes">')
    assert fold.count("<details") == fold.count("</details>") == 3
    assert " id=" not in pass_cards.list_cards(["algsimp"], catalog, named=False)


def test_the_reasons_that_a_pass_gives_are_counted_by_topic(catalog: pass_cards.PassCatalog) -> None:
    row = catalog.rows["late"]
    messages = [message for message in list_messages() if message.sentence]
    pass_messages = [message for message in messages if "instruction_fusion" in message.sources]
    assert dict(pass_cards.read_topics(row)) == {"fusion": len(pass_messages)}
    assert pass_messages != []
    assert "Its log gives reasons about these topics: fusion (" in card(catalog, "late")
    assert "log" not in card(catalog, "a b")
