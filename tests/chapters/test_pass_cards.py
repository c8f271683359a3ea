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
def shown() -> pass_cards.ShownPasses:
    """Return four passes: on all targets, on one GPU, a closed one, and a pipeline that changes nothing."""
    rows = {
        "algsimp": PassRow("algsimp", "Simplifies a < b.", ("xla/algebraic_simplifier.cc",)),
        "late": PassRow("late", "Fuses.", ("xla/service/instruction_fusion.cc",)),
        "a b": PassRow("a b", "Its name suggests that it does.", ("libtpu",)),
        "all": PassRow("all", "A pipeline.", ("libtpu",)),
    }
    example = Example("layer", "h100", "removed 1 add", (LINE,), (LINE[:20] + "…",), 2)
    uses = {target: PassUse(4, 2, ["layer"], ["layer"]) for target in TARGETS}
    seen = {
        "algsimp": PassRecord("algsimp", {**uses, "tpu-v5e": PassUse(3)}, ["all", "<p>"], [], example),
        "late": PassRecord("late", {"h200": PassUse(1, 1, ["mlp"])}, ["all"]),
        "a b": PassRecord("a b", {"tpu-v5e": PassUse(1)}, ["all"]),
        "all": PassRecord("all", {"tpu-v5e": PassUse(1)}, ["top"], ["algsimp", "a b"]),
    }
    titles = {"layer": "relu(x & w)", "mlp": "MLP"}
    return pass_cards.ShownPasses(rows, seen, titles, TARGETS, ("cpu", "h100", "tpu-v5e"))


def card(shown: pass_cards.ShownPasses, name: str) -> str:
    """Return the entry of a pass."""
    return pass_cards.list_cards([name], shown)


def test_an_entry_has_an_anchor_a_sentence_and_its_source(shown: pass_cards.ShownPasses) -> None:
    html = card(shown, "algsimp")
    assert '<details class="opcode" id="algsimp">' in html
    assert "Simplifies a &lt; b." in html
    assert f'<a href="{pass_cards.SOURCE}xla/algebraic_simplifier.cc">' in html
    assert "<code>&lt;p&gt;</code>" in html
    assert 'id="a_b"' in card(shown, "a b")
    assert "libtpu (closed)" in card(shown, "a b")


def test_a_mark_shows_if_all_targets_of_a_kind_run_the_pass_and_if_it_changes_anything(
    shown: pass_cards.ShownPasses,
) -> None:
    marks = {name: re.findall(r'<i class="([^"]*)">([^<]*)</i>', card(shown, name)) for name in shown.rows}
    assert marks == {
        "algsimp": [("cpu", "CPU"), ("gpu", "GPU"), ("tpu lost", "TPU")],
        "late": [("gpu", "some GPUs")],
        "a b": [("tpu lost", "TPU")],
        "all": [("tpu lost", "TPU")],
    }


def test_changes_are_counted_by_target(shown: pass_cards.ShownPasses) -> None:
    uses = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", card(shown, "algsimp"))
    assert uses == [
        ("CPU", "It changed 1 of 2 programs, in 2 of its 4 runs."),
        ("NVIDIA H100", "It changed 1 of 2 programs, in 2 of its 4 runs."),
        ("TPU v5e", "It changed nothing in 3 runs."),
    ]
    assert re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", card(shown, "late")) == [
        ("NVIDIA H200", "It changed 1 of 2 programs, in its only run.")
    ]
    assert "<dl>" not in card(shown, "a b")


def test_an_entry_counts_the_changes_that_the_text_shows(shown: pass_cards.ShownPasses) -> None:
    use = PassUse(4, 4, ["layer", "mlp"], [])
    seen = {**shown.records, "algsimp": PassRecord("algsimp", {"cpu": use}, ["all"])}
    quiet = pass_cards.ShownPasses(shown.rows, seen, shown.titles, TARGETS, shown.usual)
    assert "in all 4 runs; in the HLO text, at most order, numbers or metadata differ.<" in card(quiet, "algsimp")
    use.shows.append("mlp")
    assert "in all 4 runs; the HLO text shows changes in 1.<" in card(quiet, "algsimp")


def test_an_example_is_escaped_and_a_shortened_line_has_no_error_mark(shown: pass_cards.ShownPasses) -> None:
    html = card(shown, "algsimp")
    assert "<p>Its smallest change: in “relu(x &amp; w)” on the H100, it removed 1 add.</p>" in html
    assert "<script>" not in html
    assert 'class="err"' not in html
    assert '<span class="gi">+</span> %a = f32[8] custom-c…' in html
    assert "... 2 more lines" in html


def test_a_pipeline_links_to_the_passes_that_it_runs(shown: pass_cards.ShownPasses) -> None:
    assert (
        'This pipeline runs <a href="#algsimp"><code>algsimp</code></a>, <a href="#a_b"><code>a b</code></a>.'
        in card(shown, "all")
    )


def test_passes_are_ranked_by_programs_and_selected_by_kind(shown: pass_cards.ShownPasses) -> None:
    assert shown.ranked == ["algsimp", "a b", "all", "late"]
    assert shown.most(9) == ["algsimp", "a b", "late"]
    assert shown.of_kinds({"cpu", "gpu", "tpu"}) == ["algsimp"]
    assert shown.of_kinds({"gpu"}, {"cpu"}) == ["late"]
    assert shown.of_kinds({"tpu"}) == []
    assert shown.quiet() == ["a b", "all"]
    assert shown.count_programs("algsimp", TARGETS) == ["1", "1", "1", "0"]
    assert shown.count_programs("late", ["cpu", "h200"]) == ["", "0"]


def test_search_entries_have_words_only_for_passes_that_changed_a_program(shown: pass_cards.ShownPasses) -> None:
    assert pass_cards.list_entries(shown) == [
        ("algsimp", "", "algsimp"),
        ("late", "", "late"),
        ("a_b", "", ""),
        ("all", "", ""),
    ]


def test_a_fold_contains_the_entries_and_a_repeated_entry_has_no_second_anchor(
    shown: pass_cards.ShownPasses,
) -> None:
    fold = pass_cards.fold_cards("2 & more", shown.quiet(), shown)
    assert fold.startswith('<details class="listing"><summary>2 &amp; more</summary><div class="opcodes passes">')
    assert fold.count("<details") == fold.count("</details>") == 3
    assert " id=" not in pass_cards.list_cards(["algsimp"], shown, named=False)


def test_explained_log_messages_are_counted_by_topic(shown: pass_cards.ShownPasses) -> None:
    row = shown.rows["late"]
    messages = [message for message in list_messages() if message.sentence]
    known = [message for message in messages if "instruction_fusion" in message.sources]
    assert dict(pass_cards.read_topics(row)) == {"fusion": len(known)}
    assert known != []
    assert f"<code>xla-inspect</code> explains {len(known)} kinds of message about fusion in its log." in card(
        shown, "late"
    )
    assert "log" not in card(shown, "a b")
