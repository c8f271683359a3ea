"""Quotes of reasons: target, pass, verdict, the compiler's message and links to its source."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from chapters.reason_quotes import find_first_decisions, quote_reasons, write_quotes
from inside_xla.site_adapter import ADAPTER
from livepage.publish import term_links
from livepage.read import Term
from programs import layer
from xla_inspect import capture
from xla_inspect.analysis.reasons import Decision, Reasons, list_messages, read_reasons

REFUSED = Decision(
    topic="fusion",
    verdict="refused",
    instruction="tanh.1",
    others=("dot-fusion", "add.2"),
    words='not fusing "<tanh>" into %add.2 because *it* is `odd`',
    kind="",
    sentence="",
    place="libtpu",
    run=3,
    pipeline="fusion",
    pass_name="tpu_fusion",  # noqa: S106 - a pass of a compiler
    module="jit_f",
    source="tpu_instruction_fusion",
    line=12,
)


@pytest.fixture(scope="module")
def decisions() -> tuple[Decision, ...]:
    return read_reasons(capture(layer.layer, *layer.EXAMPLE, target="cpu", reasons=True)).decisions


def read_html(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - the project's own markup


def read_text(element: ET.Element | None) -> str:
    return "" if element is None else "".join(element.itertext())


def test_each_target_has_its_decisions_with_pass_verdict_words_and_meaning(decisions: tuple[Decision, ...]) -> None:
    explained = [
        reason for reason in decisions if reason.sentence and reason.pass_name and reason.place.startswith("xla/")
    ][:2]
    page = read_html(quote_reasons({"cpu": explained, "h100": explained[0], "tpu-v5e": "It says `nothing` of <this>."}))
    assert page.get("data-reasons") == "3"
    assert [read_text(reason) for reason in page.iter("dt")] == ["CPU", "NVIDIA H100", "TPU v5e"]
    assert [reason.get("data-lane") for reason in page] == ["cpu", "gpu", "tpu"]
    assert [len(reason.findall("dd")) for reason in page] == [2, 1, 1]
    for definition, decision in zip(page[0].findall("dd"), explained, strict=True):
        by, explanation = definition.findall("p")
        assert (read_text(by.find("code")), read_text(by.find("b"))) == (decision.pass_name, decision.verdict)
        assert read_text(definition.find("blockquote")) == decision.words
        assert read_text(explanation).startswith(decision.sentence)
        link = next(explanation.iter("a"))
        assert link.get("href") == f"https://github.com/openxla/xla/blob/main/{decision.place}"
    assert read_text(page[2].find("dd")) == "It says nothing of <this>."


def test_each_known_message_is_shown_whole_with_the_names_in_it_as_code(decisions: tuple[Decision, ...]) -> None:
    kinds = {(message.topic, message.kind) for message in list_messages()}
    known_decisions = [reason for reason in decisions if reason.kind]
    assert {(reason.topic, reason.kind) for reason in known_decisions} <= kinds
    for decision in known_decisions:
        explanation = read_html(quote_reasons({"cpu": decision})).findall("div/dd/p")[1]
        assert read_text(explanation).startswith(decision.sentence)
        coded = {read_text(reason) for reason in explanation.findall("code")}
        names = {decision.instruction, *decision.others}
        # What is code is a name, or a rule or a shape of the compiler's own notation.
        assert all(text in names or re.search(r"[\[(|]|=>", text) for text in coded), decision
        if decision.instruction and decision.sentence.startswith(f"{decision.instruction} "):
            assert decision.instruction in coded


def test_an_unexplained_message_is_shown_with_its_instruction() -> None:
    html = quote_reasons({"tpu-v5e": REFUSED})
    assert not re.search(r"[*`]", html)
    page = read_html(html)
    assert read_text(page.find("div/dd/blockquote")) == REFUSED.words
    explanation = page.findall("div/dd/p")[1]
    assert read_text(explanation) == (
        "This message about tanh.1, dot-fusion, add.2 has no explanation yet. libtpu, which is closed source"
    )
    assert [read_text(code) for code in explanation.findall("code")] == ["tanh.1", "dot-fusion", "add.2"]
    assert "<a " not in html


def test_a_message_of_several_runs_is_shown_once() -> None:
    again = replace(REFUSED, run=9, line=13)
    other = replace(REFUSED, words="another reason")
    assert quote_reasons({"tpu-v5e": [REFUSED, again, other]}) == quote_reasons({"tpu-v5e": [REFUSED, other]})


def test_places_lead_to_the_source_of_xla_or_of_llvm() -> None:
    for place in {message.place for message in list_messages() if message.place}:
        html = quote_reasons({"cpu": replace(REFUSED, place=place)})
        links = re.findall(r'href="([^"]*)"', html)
        project = "llvm/llvm-project" if place.startswith("llvm/") else "openxla/xla"
        assert links == ([] if place == "libtpu" else [f"https://github.com/{project}/blob/main/{place}"])


def test_a_variant_of_a_program_is_named_as_it_is() -> None:
    page = read_html(quote_reasons({"<donated>": REFUSED}))
    assert read_text(page.find("div/dt")) == "<donated>"
    assert page[0].get("data-lane") is None


def test_messages_outside_of_passes_are_marked() -> None:
    html = quote_reasons({"cpu": replace(REFUSED, pass_name="", pipeline="", run=-1)})
    assert "outside the passes <b" in html


@pytest.mark.parametrize("nothing", [(), "", " "])
def test_a_target_without_a_reason_needs_a_sentence(nothing: str | tuple[Decision, ...]) -> None:
    with pytest.raises(ValueError, match="h100 has no answer"):
        quote_reasons({"h100": nothing})


def test_plain_markdown_has_a_point_for_each_decision(decisions: tuple[Decision, ...]) -> None:
    sample = next(decision for decision in decisions if decision.sentence and decision.place.startswith("xla/"))
    text = f"before\n    {quote_reasons({'tpu-v5e': [REFUSED, sample], 'cpu': 'It says `nothing` of <this>.'})}after"
    lines = write_quotes(text).splitlines()
    file = sample.place.rpartition("/")[2]
    assert lines[0] == "before"
    assert lines[1] == (
        '    - **TPU v5e**, `tpu_fusion`, refused, `` not fusing "<tanh>" into %add.2 because *it* is `odd` ``: '
        "This message about `tanh.1`, `dot-fusion`, `add.2` has no explanation yet. "
        "(libtpu, which is closed source)"
    )
    assert lines[2].startswith(f"    - **TPU v5e**, `{sample.pass_name}`, {sample.verdict}, `{sample.words}`: ")
    assert (
        lines[2]
        .replace("`", "")
        .endswith(f"{sample.sentence} ([{file}](https://github.com/openxla/xla/blob/main/{sample.place}))")
    )
    assert lines[3:] == ["    - **CPU**: It says `nothing` of <this>.", "after"]
    assert ADAPTER.tell(text) == write_quotes(text)


def test_the_name_of_a_pass_gets_its_entry_on_hover() -> None:
    term = Term("tpu_fusion", "passes.md", "tpu_fusion", "It fuses.", (), code="tpu_fusion", is_rare=True)
    linked = term_links.link(quote_reasons({"tpu-v5e": REFUSED}), [term], "../{}/".format)
    assert '<a class="term" href="../passes.md/#tpu_fusion"><code>tpu_fusion</code></a>' in linked


def test_the_first_decision_of_each_kind_is_found_among_those_about_something() -> None:
    refusals = [
        replace(REFUSED, kind="one", instruction="dot.1"),
        replace(REFUSED, kind="two", instruction="add.1", others=("dot.2.0",)),
        replace(REFUSED, kind="two", instruction="dot.2"),
        replace(REFUSED, kind="one", instruction="dot.10"),
    ]
    reasons = Reasons(tuple(refusals), explained=0, unexplained={})
    assert find_first_decisions(reasons, "two", "one", "none") == (refusals[1], refusals[0])
    assert find_first_decisions(reasons, "one", about=("dot.1",)) == (refusals[0],)
    assert find_first_decisions(reasons, "two", about=("dot.2",)) == (refusals[1],)
    assert find_first_decisions(reasons, "one", about=("dot.10", "dot.3")) == (refusals[3],)
    assert find_first_decisions(reasons, "one", about=("dot.3",)) == ()
