"""The explorer's code of each kernel says what the capture says, is linked to instructions, and keeps bundles back."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from programs import layer as small
from xla_inspect import Captures, capture, capture_all
from xla_inspect.analysis import follow_passes, list_kernels
from xla_inspect.analysis.bundles import read_below
from xla_inspect.captured import Code
from xla_inspect.report import describe_kernels, write_bundles
from xla_inspect.report.explorer import embed
from xla_inspect.report.explorer.code_data import BUNDLES, list_pieces, trace_pieces
from xla_inspect.report.explorer.data import describe_capture, describe_details

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def below(all_targets: None) -> Captures:  # noqa: ARG001 - it asks for them
    return capture_all(small.layer, *small.EXAMPLE, machine=True)


def describe(found: Any, *, bundles: bool = True) -> dict[str, Any]:  # noqa: ANN401 - a capture
    described: dict[str, Any] = describe_capture(found, code=True, bundles=bundles)["code"]
    return described


def figures(kernel: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value, _ in kernel["figures"]}


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_kernel_is_linked_to_the_instruction_that_runs_it_and_to_its_line(below: Captures, target: str) -> None:
    found = below[target]
    *_, last = follow_passes(found)
    names = {number: instruction.name for instruction, number in last.numbers.items()}
    data = describe_capture(found, code=True)
    kernels = [kernel for kernel in data["code"]["kernels"] if kernel["instructions"]]
    launched = {launch.scheduled.name for launch in list_kernels(found)}
    assert kernels
    for kernel in kernels:
        assert {names[number] for number in kernel["instructions"]} <= launched
        assert set(kernel["instructions"]) < set(kernel["holds"])
        places = [data["places"][place] for place in kernel["places"]]
        assert [data["sources"][file][0] for file, _ in places] == [found.source_file] * len(places)


def test_a_gpus_kernel_shows_what_the_assembler_says_of_it(below: Captures) -> None:
    shown = {kernel["name"]: figures(kernel) for kernel in describe(below["h100"])["kernels"]}
    for kernel in describe_kernels(below["h100"]):
        assert kernel.resources is not None
        assert kernel.occupancy is not None
        assert shown[kernel.name]["registers"] == f"{kernel.resources.registers}"
        assert shown[kernel.name]["occupancy"] == f"{kernel.occupancy.share:.0%}"
        assert shown[kernel.name]["spills"] == "none"


def test_a_cpus_kernel_shows_its_vectors_and_loops(below: Captures) -> None:
    (kernel,) = describe(below["cpu"])["kernels"]
    (known,) = describe_kernels(below["cpu"])
    assert figures(kernel)["vectors"] == f"{known.width} bits"
    assert [line for line in kernel["lines"] if line.startswith("innermost loop")] != []
    assert [title for title, *_ in kernel["pieces"]] == ["LLVM IR before LLVM's own passes", "LLVM IR", "Assembly"]


def test_a_tpus_kernel_shows_bundles_cycles_units_and_the_steps_that_changed_it(below: Captures) -> None:
    known = read_below(below["tpu-v5e"])
    code = describe(below["tpu-v5e"])
    assert [kernel["name"] for kernel in code["kernels"]] == [kernel.name for kernel in known]
    for kernel, each in zip(code["kernels"], known, strict=True):
        assert figures(kernel)["bundles"] == f"{each.size:,}"
        assert figures(kernel)["cycles"] == f"{each.cycles:,}"
        busy = [unit for unit, share in each.utilization.shares.items() if share and ":" not in unit]
        assert len(kernel["bars"]) == len(busy)
        assert len(kernel["steps"]) + kernel["unchanged"] == len(each.stages)
        names = [code["steps"][at][0] for at, _, _ in kernel["steps"]]
        assert names == [stage.name for stage in each.stages if stage.is_changed is not False]


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_piece_names_the_text_that_is_fetched_later(below: Captures, target: str) -> None:
    code = describe(below[target])
    texts = describe_details(below[target], code=True, bundles=True)["code"]
    pieces = [piece for kernel in code["kernels"] for piece in kernel["pieces"]] + code["pieces"]
    assert sorted(at for _, _, at, _ in pieces) == list(range(len(texts)))
    assert all(len(texts[at].splitlines()) == lines for _, lines, at, _ in pieces)


def test_machine_code_names_the_lines_of_ptx_it_comes_from(below: Captures) -> None:
    found = below["h100"]
    pieces = list_pieces(found, bundles=False)
    lines = describe_details(found, code=True)["lines"]
    assert lines == trace_pieces(pieces)
    assert sorted(lines) == [at for at, piece in enumerate(pieces) if piece.language == "sass"]
    for position, each in lines.items():
        source = next(
            piece.text for piece in pieces if (piece.kernel, piece.language) == (pieces[position].kernel, "ptx")
        ).splitlines()
        stored = [
            source[line - 1]
            for line, text in zip(each, pieces[position].text.splitlines(), strict=True)
            if "STG" in text
        ]
        assert stored
        assert [text for text in stored if "st.global" not in text] == []
    assert [describe_details(below[target], code=True)["lines"] for target in ("cpu", "tpu-v5e")] == [{}, {}]
    assert describe_details(found)["lines"] == {}


def test_a_kernel_has_the_kind_that_its_box_in_the_graph_has(below: Captures) -> None:
    for target, found in below.items():
        data = describe_capture(found, code=True)
        kinds = {node["name"]: node["kind"] for node in data["graph"]["nodes"]}
        assert {each["name"]: each["sort"] for each in data["kernels"]["launches"]} == kinds
        sorts = {kernel["sort"] for kernel in data["code"]["kernels"] if kernel["instructions"]}
        assert sorts <= set(kinds.values()), target


def test_the_text_of_bundles_is_in_no_data_unless_it_is_asked_for(below: Captures, tmp_path: Path) -> None:
    found = below["tpu-v5e"]
    lines = [line for kernel in read_below(found) for line in write_bundles(kernel).splitlines() if len(line) > 30]
    asked = json.dumps(describe_details(found, code=True, bundles=True))
    assert [line for line in lines if json.dumps(line)[1:-1] not in asked] == []
    for name in (embed.stage_data(found, tmp_path, code=True), embed.stage_details(found, tmp_path, code=True)):
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert [line for line in lines if json.dumps(line)[1:-1] in written] == []
        assert "vmatmul" not in written
    command = f"xla-inspect show {found.source_file}:layer --stage code --target tpu-v5e"
    assert describe(found, bundles=False)["gap"].endswith(command)
    assert BUNDLES not in {piece.language for piece in list_pieces(found, bundles=False)}
    assert describe(found)["gap"] == ""


def test_data_with_bundles_and_without_have_different_names(below: Captures, tmp_path: Path) -> None:
    found = below["tpu-v5e"]
    asked = [{}, {"code": True}, {"code": True, "bundles": True}]
    assert len({embed.stage_details(found, tmp_path, **each) for each in asked}) == len(asked)
    assert len({embed.stage_data(found, tmp_path, **each) for each in asked}) == len(asked)


def test_a_page_shows_the_code_of_those_captures_that_hold_machine_code(
    below: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "STAGED", tmp_path)
    mixed = Captures({**below, "h100": capture(small.layer, *small.EXAMPLE, target="h100")}, {}, below.targets)
    written = embed.embed_explorer(mixed, "layer", code=True)
    found = re.search(r'data-captures="([^"]*)"', written)
    assert found is not None
    offered = {each["target"]: each for each in json.loads(html.unescape(found[1]))}
    assert {target: bool(each["details"]) for target, each in offered.items()} == {
        "cpu": True,
        "h100": False,
        "tpu-v5e": True,
    }
    shown = {target: json.loads((tmp_path / each["src"]).read_text())["code"] for target, each in offered.items()}
    assert [target for target, code in shown.items() if code] == ["cpu", "tpu-v5e"]


def test_what_a_capture_lacks_is_said_with_what_holds_it(below: Captures) -> None:
    bare = {
        "h100": below["h100"].retold(code=tuple(code for code in below["h100"].code if code.language != "sass")),
        "tpu-v5e": replace(below["tpu-v5e"], low_level=()),
        "cpu": below["cpu"].retold(code=tuple(code for code in below["cpu"].code if code.language != "asm")),
    }
    said = {target: describe(found)["gap"] for target, found in bare.items()}
    assert "Registers, occupancy and SASS" in said["h100"]
    assert "below HLO" in said["tpu-v5e"]
    assert "assembly" in said["cpu"]
    assert {describe(found)["gap"] for found in below.values()} == {""}


def test_code_that_no_launch_runs_is_shown_without_a_link(below: Captures) -> None:
    found = below["h100"]
    odd = found.retold(code=(*found.code, Code("<b>nobody", "ptx", "// <script>")))
    kernel = next(each for each in describe(odd)["kernels"] if each["name"] == "_b_nobody")
    assert (kernel["instructions"], kernel["holds"], kernel["places"]) == ([], [], [])
    assert [title for title, *_ in kernel["pieces"]] == ["PTX"]
