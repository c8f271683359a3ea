"""In a terminal, a summary of a TPU's kernel is printed above its bundles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from programs import layer, scatter_update
from xla_inspect import capture
from xla_inspect.analysis.bundles import read_below
from xla_inspect.report import write_below, write_bundles
from xla_inspect.report.bundle_text import summarize_below

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def program(all_targets: None) -> Capture:  # noqa: ARG001 - a fixture that skips
    """The capture of the layer on a TPU v5e, with its machine code."""
    return capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)


def test_a_kernel_summary_lists_its_line_units_and_steps(program: Capture) -> None:
    kernel, *_ = read_below(program)
    text = summarize_below(kernel).splitlines()
    assert text[0] == "==== fusion (bundles)"
    assert text[1] == "  made for: fusion, `jit(layer)/dot_general`, snippets/programs/layer.py:9"
    assert text[2] == f"  {kernel.size} bundles"
    assert text[3] == f"  {kernel.cycles} cycles for one pass through the kernel, by the compiler's estimate"
    bars = [line for line in text if line.endswith("%")]
    assert len(bars) == sum(bool(share) for share in kernel.utilization.shares.values())
    shares = [share for share in kernel.utilization.shares.values() if share]
    bar_lengths = [line.split()[-2].count("#") for line in bars]
    assert bar_lengths == [round(30 * share) for share in shares]
    assert any(line.startswith("  operations: 52 vector ALU, 42 vector load, 32 MXU weights") for line in text)
    assert f"{len(kernel.stages)} compiler steps below HLO" in text[-1]


def test_the_text_of_a_program_starts_with_a_line_for_each_kernel(program: Capture) -> None:
    text = write_below(program)
    assert text.startswith("fusion ")
    assert [line.split("  ")[0] for line in text.splitlines()[:4]] == [
        "fusion",
        "the program around the kernels",
        "late initialization",
        "late finalization",
    ]
    assert text.count("==== ") == 4
    assert "control target key" not in text


def test_a_kernel_is_selected_by_the_name_of_any_instruction_that_runs_it(program: Capture) -> None:
    kernel, *_ = read_below(program)
    assert write_below(program, "fusion") == f"{summarize_below(kernel)}\n{write_bundles(kernel)}"
    shared = replace(program.low_level[0], instructions=("fusion", "fusion.9"))
    again = write_below(program.retold(low_level=(shared,)), "fusion.9")
    assert "  also runs as fusion.9\n" in again
    assert write_below(program, "fusion.9") == ""


def test_a_loop_is_listed_with_its_iterations() -> None:
    compilation = capture(
        scatter_update.scatter_update, *scatter_update.EXAMPLE, target="tpu-v5e", machine=True, passes=False
    )
    loops = [line for line in write_below(compilation).splitlines() if line.startswith("  loop of ")]
    assert len(loops) == sum(len(kernel.loops) for kernel in read_below(compilation)) > 0
    assert all(line.endswith((" times", " time", " repeats while its condition is true")) for line in loops)


def test_a_capture_without_low_level_code_has_no_text(program: Capture) -> None:
    assert write_below(program.retold(low_level=())) == ""
