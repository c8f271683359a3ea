"""In a terminal, what a TPU's kernels take stands above their bundles."""

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
def found(all_targets: None) -> Capture:  # noqa: ARG001 - a fixture that skips
    """The layer on a TPU v5e."""
    return capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)


def test_a_kernel_is_told_with_its_line_its_units_and_its_steps(found: Capture) -> None:
    kernel, *_ = read_below(found)
    told = summarize_below(kernel).splitlines()
    assert told[0] == "==== fusion (bundles)"
    assert told[1] == "  made for: fusion, `jit(layer)/dot_general`, snippets/programs/layer.py:9"
    assert told[2] == f"  {kernel.size} bundles"
    assert told[3] == f"  {kernel.cycles} cycles once through, as the compiler reckons"
    bars = [line for line in told if line.endswith("%")]
    assert len(bars) == sum(bool(share) for share in kernel.utilization.shares.values())
    shares = [share for share in kernel.utilization.shares.values() if share]
    bar_lengths = [line.split()[-2].count("#") for line in bars]
    assert bar_lengths == [round(30 * share) for share in shares]
    assert any(line.startswith("  operations: 52 vector ALU, 42 vector load, 32 MXU weights") for line in told)
    assert f"{len(kernel.stages)} steps below HLO" in told[-1]


def test_a_whole_program_begins_with_a_line_for_each_kernel(found: Capture) -> None:
    text = write_below(found)
    assert text.startswith("fusion ")
    assert [line.split("  ")[0] for line in text.splitlines()[:4]] == [
        "fusion",
        "the program around the kernels",
        "late initialization",
        "late finalization",
    ]
    assert text.count("==== ") == 4
    assert "control target key" not in text


def test_one_kernel_is_told_alone_by_the_name_of_any_instruction_that_runs_it(found: Capture) -> None:
    kernel, *_ = read_below(found)
    assert write_below(found, "fusion") == f"{summarize_below(kernel)}\n{write_bundles(kernel)}"
    shared = replace(found.low_level[0], instructions=("fusion", "fusion.9"))
    again = write_below(found.retold(low_level=(shared,)), "fusion.9")
    assert "  runs also as fusion.9\n" in again
    assert write_below(found, "fusion.9") == ""


def test_a_loop_is_told_with_how_often_it_runs() -> None:
    compiled = capture(
        scatter_update.scatter_update, *scatter_update.EXAMPLE, target="tpu-v5e", machine=True, passes=False
    )
    loops = [line for line in write_below(compiled).splitlines() if line.startswith("  loop of ")]
    assert len(loops) == sum(len(kernel.loops) for kernel in read_below(compiled)) > 0
    assert all(line.endswith((" times", " time", " as often as its condition holds")) for line in loops)


def test_a_capture_without_has_nothing_to_tell(found: Capture) -> None:
    assert write_below(found.retold(low_level=())) == ""
