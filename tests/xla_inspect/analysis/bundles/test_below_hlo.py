"""The low-level kernels of a TPU, each with its line of Python."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.analysis.bundles import BundledKernel, read_below
from xla_inspect.analysis.bundles.below_hlo import AROUND

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

pytestmark = pytest.mark.usefixtures("all_targets")


def test_each_generation_compiles_the_layer_to_one_kernel_and_three_programs_around_it(
    generations: Captures,
) -> None:
    for target, generation in generations.items():
        kernel, *around = read_below(generation)
        assert (target, kernel.low.kernel, kernel.line and kernel.line.number) == (target, "fusion", 9)
        assert kernel.op_name == "jit(layer)/dot_general"
        assert kernel.instruction is not None
        assert kernel.instruction.fusion_kind == "kOutput"
        assert sorted(part.low.kernel for part in around) == sorted(AROUND)
        assert [part.is_kernel for part in (kernel, *around)] == [True, False, False, False]


def test_a_kernel_has_as_many_bundles_as_the_compiler_counts(generations: Captures) -> None:
    for generation in generations.values():
        for kernel in read_below(generation):
            assert kernel.size == len(kernel.bundles) == len(kernel.utilization.rows)
            assert [bundle.address for bundle in kernel.bundles] == list(range(kernel.size))
            assert kernel.schedule.empty <= sum(not bundle.units for bundle in kernel.bundles)


def test_a_kernel_takes_at_least_as_many_cycles_as_bundles_and_as_its_longest_chain(generations: Captures) -> None:
    for generation in generations.values():
        for entry in read_below(generation):
            assert entry.cycles is not None
            assert entry.cycles >= max(entry.size, entry.critical_path.cycles if entry.critical_path else 0)
        kernel, *_ = read_below(generation)
        assert kernel.cycles is not None
        assert kernel.cycles > kernel.size
        bare = replace(kernel.low, stages=())
        assert BundledKernel(bare, None, None).cycles is None


def test_an_unknown_operation_is_reported(generations: Captures) -> None:
    capture = generations["tpu-v5e"]
    altered = tuple(replace(low, bundles=low.bundles.replace("vmatmul", "vmystery")) for low in capture.low_level)
    kernel, *_ = read_below(capture.retold(low_level=altered))
    assert all(name.startswith("vmystery.") for name in kernel.unknown)
    assert sum(kernel.unknown.values()) == kernel.units["unknown"] == 8


def test_a_capture_without_low_level_code_has_no_kernels_below_hlo() -> None:
    assert read_below(capture(abs, 1.0, target="tpu-v5e")) == ()
