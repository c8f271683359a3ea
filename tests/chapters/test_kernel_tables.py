"""Tables of kernels with the resources of their machine code."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chapters import kernel_tables
from programs import layer, mlp
from xla_inspect import capture
from xla_inspect.report import describe_kernels

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

TAG = re.compile(r"<[^>]+>")


@pytest.fixture(scope="module")
def programs(all_targets: None) -> dict[str, Capture]:  # noqa: ARG001 - it asks for them
    return {
        name: capture(function, *example, target="h100", machine=True, passes=False)
        for name, function, example in (("a <layer>", layer.layer, layer.EXAMPLE), ("MLP", mlp.mlp, mlp.EXAMPLE))
    }


def test_each_kernel_of_a_gpu_has_a_row_with_its_line_registers_and_occupancy(programs: dict[str, Capture]) -> None:
    capture = programs["MLP"]
    table = kernel_tables.table_kernels(capture)
    kernels = describe_kernels(capture)
    assert table.count("<tr") == len(kernels) + 1
    for kernel in kernels:
        assert kernel.resources
        assert kernel.occupancy
        row = next(row for row in table.split("<tr")[2:] if f"<code>{kernel.name}</code>" in row)
        for text in (kernel.where, str(kernel.resources.registers), f"{kernel.occupancy.share:.0%}"):
            assert text in TAG.sub(" ", row)


def test_a_program_has_the_least_occupancy_of_its_kernels(programs: dict[str, Capture]) -> None:
    table = kernel_tables.table_occupancy(programs)
    assert "a &lt;layer&gt;" in table
    for name, program in programs.items():
        least = min(kernel.occupancy.share for kernel in describe_kernels(program) if kernel.occupancy)
        row = next(row for row in table.split("<tr")[2:] if name.partition("<")[0].strip() in row)
        assert f"{least:.0%}" in row
    assert sum(kernel_tables.count_bounds(programs).values()) == sum(
        len(describe_kernels(program)) for program in programs.values()
    )


def test_the_cpus_kernels_are_listed_with_their_vector_widths() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="cpu", passes=False, reasons=True)
    table = kernel_tables.table_vectors({"layer": program})
    (kernel,) = describe_kernels(program)
    assert f"{kernel.width} bits in 1" in table
    assert kernel_tables.is_spilling(kernel) == bool(kernel.vectors and kernel.vectors.on_stack)
    for remark, is_spilling in (
        ("2 spills 3.0 total spills cost generated in function", True),
        ("2 spills 3.0 total spills cost generated in loop", False),
        ("loop vectorized in function", False),
    ):
        assert kernel_tables.is_spilling(replace(kernel, remarks=(remark,))) == is_spilling
