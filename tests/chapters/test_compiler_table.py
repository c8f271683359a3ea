"""The table of kernels that each compiler launches for each shared program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapters.compiler_table import Way, compile_programs, list_ways, show_ways
from peers import given, records
from xla_inspect.analysis import list_kernels
from xla_inspect.captured import Captures

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("tensorflow", "torch", "pytorch_xla", "tvm", "iree", "onnxruntime")


@pytest.fixture(scope="module")
def programs() -> Mapping[str, Captures]:
    return compile_programs()


@pytest.fixture(scope="module")
def ways(programs: Mapping[str, Captures]) -> dict[str, Way]:
    return list_ways(programs, {name: records.read(name) for name in NAMES})


def test_each_compiler_row_lists_the_launches_for_each_program(ways: dict[str, Way]) -> None:
    assert [list(way.runs) for way in ways.values()] == [list(given.SHAPES)] * len(ways)
    assert ways["TVM"].runs["layer"] == ("fused_matmul_add_relu",)


@pytest.mark.usefixtures("all_targets")
def test_the_rows_of_xla_are_what_was_compiled_for_each_target(
    programs: Mapping[str, Captures], ways: dict[str, Way]
) -> None:
    kernel_counts = {name: len(list_kernels(capture["h100"])) for name, capture in programs.items()}
    assert {name: len(names) for name, names in ways["XLA, NVIDIA H100"].runs.items()} == kernel_counts


@pytest.mark.usefixtures("all_targets")
def test_only_gpu_programs_with_a_matmul_are_tunable(ways: dict[str, Way]) -> None:
    assert ways["XLA, NVIDIA H100"].tunable == {"layer", "classify", "mlp_block"}
    assert {label for label, way in ways.items() if way.tunable} == {"XLA, NVIDIA H100", "XLA, AMD MI300X"}


@pytest.mark.usefixtures("all_targets")
def test_a_target_that_lacks_a_program_has_no_row(programs: Mapping[str, Captures]) -> None:
    fewer = dict(programs) | {"gelu": Captures({"cpu": programs["gelu"]["cpu"]}, {}, ("cpu",))}
    listed = list_ways(fewer, {name: records.read(name) for name in NAMES})
    assert [label for label in listed if label.startswith("XLA, ") and "through" not in label] == ["XLA, CPU"]


def test_a_number_that_autotuning_could_change_has_its_tag_in_the_cell() -> None:
    runs = dict.fromkeys(given.SHAPES, ("a<b>", "c"))
    html = show_ways({"one": Way(runs, frozenset({"gelu"}))}, "TAG")
    assert "| one | 2 | 2 TAG | 2 | 2 |" in html
    assert "<code>a&#60;b&#62;</code><br><code>c</code>" in html
