"""The explorer's code agrees with the capture, is linked to instructions, and omits bundles by default."""

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


def describe(result: Any, *, bundles: bool = True) -> dict[str, Any]:  # noqa: ANN401 - a capture
    described: dict[str, Any] = describe_capture(result, code=True, bundles=bundles)["code"]
    return described


def figures(kernel: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value, _ in kernel["figures"]}


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_kernel_is_linked_to_the_instruction_that_runs_it_and_to_its_line(below: Captures, target: str) -> None:
    result = below[target]
    *_, last = follow_passes(result)
    names = {number: instruction.name for instruction, number in last.numbers.items()}
    data = describe_capture(result, code=True)
    kernels = [kernel for kernel in data["code"]["kernels"] if kernel["instructions"]]
    launched = {launch.scheduled.name for launch in list_kernels(result)}
    assert kernels
    for kernel in kernels:
        assert {names[number] for number in kernel["instructions"]} <= launched
        assert set(kernel["instructions"]) < set(kernel["holds"])
        places = [data["places"][place] for place in kernel["places"]]
        assert [data["sources"][file][0] for file, _ in places] == [result.source_file] * len(places)


def test_a_gpu_kernel_shows_the_assemblers_report(below: Captures) -> None:
    output = {kernel["name"]: figures(kernel) for kernel in describe(below["h100"])["kernels"]}
    for kernel in describe_kernels(below["h100"]):
        assert kernel.resources is not None
        assert kernel.occupancy is not None
        assert output[kernel.name]["registers"] == f"{kernel.resources.registers}"
        assert output[kernel.name]["occupancy"] == f"{kernel.occupancy.share:.0%}"
        assert output[kernel.name]["spills"] == "none"


@pytest.mark.parametrize("target", ["mi250", "mi300x"])
def test_an_amd_kernel_shows_its_registers_and_waves_in_amds_words(target: str) -> None:
    program = capture(small.layer, *small.EXAMPLE, target=target)
    (kernel,) = (kernel for kernel in describe(program)["kernels"] if kernel["instructions"])
    names = figures(kernel)
    assert {"VGPRs", "spills", "LDS", "occupancy", "fills"} <= names.keys()
    assert not {"registers", "shared memory", "waves"} & names.keys()
    (occupancy,) = (text for name, _, text in kernel["figures"] if name == "occupancy")
    assert re.fullmatch(r"\d+ of at most 32 waves per compute unit, limited by [\w ]+", occupancy)
    kinds = {kind: says for kind, _, says in kernel["bars"]}
    assert kinds.keys() >= {"floating point", "LDS", "global memory"}
    assert all(kinds.values())
    without = replace(program, code=tuple(code for code in program.code if code.language != "asm"))
    assert describe(without)["gap"].startswith("The assembly was not captured")


def test_a_cpu_kernel_shows_its_vectors_and_loops(below: Captures) -> None:
    (kernel,) = describe(below["cpu"])["kernels"]
    (names,) = describe_kernels(below["cpu"])
    assert figures(kernel)["vectors"] == f"{names.width} bits"
    assert [line for line in kernel["lines"] if line.startswith("innermost loop")] != []
    assert [title for title, *_ in kernel["pieces"]] == ["LLVM IR before LLVM's own passes", "LLVM IR", "Assembly"]


def test_a_tpu_kernel_shows_bundles_cycles_units_and_steps(below: Captures) -> None:
    known_values = read_below(below["tpu-v5e"])
    code = describe(below["tpu-v5e"])
    assert [kernel["name"] for kernel in code["kernels"]] == [kernel.name for kernel in known_values]
    for kernel, item in zip(code["kernels"], known_values, strict=True):
        assert figures(kernel)["bundles"] == f"{item.size:,}"
        assert figures(kernel)["cycles"] == f"{item.cycles:,}"
        busy = [unit for unit, share in item.utilization.shares.items() if share and ":" not in unit]
        assert len(kernel["bars"]) == len(busy)
        assert len(kernel["steps"]) + kernel["unchanged"] == len(item.stages)
        names = [code["steps"][at][0] for at, _, _ in kernel["steps"]]
        assert names == [stage.name for stage in item.stages if stage.is_changed is not False]


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_piece_references_its_text(below: Captures, target: str) -> None:
    code = describe(below[target])
    texts = describe_details(below[target], code=True, bundles=True)["code"]
    pieces = [piece for kernel in code["kernels"] for piece in kernel["pieces"]] + code["pieces"]
    assert sorted(at for _, _, at, _ in pieces) == list(range(len(texts)))
    assert all(len(texts[at].splitlines()) == lines for _, lines, at, _ in pieces)


def test_machine_code_is_linked_to_lines_of_ptx(below: Captures) -> None:
    result = below["h100"]
    pieces = list_pieces(result, bundles=False)
    lines = describe_details(result, code=True)["lines"]
    assert lines == trace_pieces(pieces)
    assert sorted(lines) == [at for at, piece in enumerate(pieces) if piece.language == "sass"]
    for position, item in lines.items():
        source = next(
            piece.text for piece in pieces if (piece.kernel, piece.language) == (pieces[position].kernel, "ptx")
        ).splitlines()
        stored = [
            source[line - 1]
            for line, text in zip(item, pieces[position].text.splitlines(), strict=True)
            if "STG" in text
        ]
        assert stored
        assert [text for text in stored if "st.global" not in text] == []
    assert [describe_details(below[target], code=True)["lines"] for target in ("cpu", "tpu-v5e")] == [{}, {}]
    assert describe_details(result)["lines"] == {}


def test_a_kernel_has_the_kind_that_its_box_in_the_graph_has(below: Captures) -> None:
    for target, result in below.items():
        data = describe_capture(result, code=True)
        kinds = {node["name"]: node["kind"] for node in data["graph"]["nodes"]}
        assert {item["name"]: item["sort"] for item in data["kernels"]["launches"]} == kinds
        sorts = {kernel["sort"] for kernel in data["code"]["kernels"] if kernel["instructions"]}
        assert sorts <= set(kinds.values()), target


def test_bundle_text_is_in_the_data_only_on_request(below: Captures, tmp_path: Path) -> None:
    result = below["tpu-v5e"]
    lines = [line for kernel in read_below(result) for line in write_bundles(kernel).splitlines() if len(line) > 30]
    request = json.dumps(describe_details(result, code=True, bundles=True))
    assert [line for line in lines if json.dumps(line)[1:-1] not in request] == []
    for name in (embed.stage_data(result, tmp_path, code=True), embed.stage_details(result, tmp_path, code=True)):
        content = (tmp_path / name).read_text(encoding="utf-8")
        assert [line for line in lines if json.dumps(line)[1:-1] in content] == []
        assert "vmatmul" not in content
    command = f"xla-inspect show {result.source_file}:layer --stage code --target tpu-v5e"
    assert describe(result, bundles=False)["gap"].endswith(command)
    assert BUNDLES not in {piece.language for piece in list_pieces(result, bundles=False)}
    assert describe(result)["gap"] == ""


def test_data_with_bundles_and_without_have_different_names(below: Captures, tmp_path: Path) -> None:
    result = below["tpu-v5e"]
    request = [{}, {"code": True}, {"code": True, "bundles": True}]
    assert len({embed.stage_details(result, tmp_path, **item) for item in request}) == len(request)
    assert len({embed.stage_data(result, tmp_path, **item) for item in request}) == len(request)


def test_a_page_shows_code_for_captures_with_machine_code(
    below: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "STAGED", tmp_path)
    mixed = Captures({**below, "h100": capture(small.layer, *small.EXAMPLE, target="h100")}, {}, below.targets)
    content = embed.embed_explorer(mixed, "layer", code=True)
    result = re.search(r'data-captures="([^"]*)"', content)
    assert result is not None
    offered = {item["target"]: item for item in json.loads(html.unescape(result[1]))}
    assert {target: bool(item["details"]) for target, item in offered.items()} == {
        "cpu": True,
        "h100": False,
        "tpu-v5e": True,
    }
    output = {target: json.loads((tmp_path / item["src"]).read_text())["code"] for target, item in offered.items()}
    assert [target for target, code in output.items() if code] == ["cpu", "tpu-v5e"]


def test_missing_code_is_explained(below: Captures) -> None:
    bare = {
        "h100": below["h100"].retold(code=tuple(code for code in below["h100"].code if code.language != "sass")),
        "tpu-v5e": replace(below["tpu-v5e"], low_level=()),
        "cpu": below["cpu"].retold(code=tuple(code for code in below["cpu"].code if code.language != "asm")),
    }
    text = {target: describe(result)["gap"] for target, result in bare.items()}
    assert "Registers, occupancy and SASS" in text["h100"]
    assert "below HLO" in text["tpu-v5e"]
    assert "assembly" in text["cpu"]
    assert {describe(result)["gap"] for result in below.values()} == {""}


def test_code_that_no_launch_runs_is_shown_without_a_link(below: Captures) -> None:
    result = below["h100"]
    odd = result.retold(code=(*result.code, Code("<b>nobody", "ptx", "// <script>")))
    kernel = next(item for item in describe(odd)["kernels"] if item["name"] == "_b_nobody")
    assert (kernel["instructions"], kernel["holds"], kernel["places"]) == ([], [], [])
    assert [title for title, *_ in kernel["pieces"]] == ["PTX"]
