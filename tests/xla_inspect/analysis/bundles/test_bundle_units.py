"""The table of operations and units agrees with libtpu's counts for each bundle."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from programs import attention, rnn, softmax
from xla_inspect import capture_all
from xla_inspect.analysis.bundles import UNITS, list_units, read_below
from xla_inspect.analysis.bundles.bundle_units import find_mnemonic, list_mnemonics

if TYPE_CHECKING:
    from xla_inspect.analysis.bundles import BundledKernel
    from xla_inspect.captured import Captures

GENERATIONS = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")
HELD = ("VALU", "VPOP", "VSTORE")
"""The names of the slots that other slots do not share, whose counts are compared."""

ALL_AT_ONCE = ("inlined_call", "vsettm")
"""Operations that libtpu counts for every slot of their bundle."""


@pytest.fixture(scope="module")
def programs(generations: Captures) -> list[Captures]:
    """Programs with matmuls, loops, transposes and transcendental functions, each on five generations."""
    return [
        generations,
        *(
            capture_all(function, *example, targets=GENERATIONS, machine=True, passes=False)
            for function, example in (
                (softmax.softmax, softmax.EXAMPLE),
                (attention.attention, attention.EXAMPLE),
                (rnn.rnn, rnn.EXAMPLE),
            )
        ),
    ]


def test_at_least_99_of_100_operations_are_known(programs: list[Captures]) -> None:
    for captures in programs:
        for target, capture in captures.items():
            kernels = read_below(capture)
            unknown = sum(sum(kernel.unknown.values()) for kernel in kernels)
            assert unknown <= 0.01 * sum(sum(kernel.units.values()) for kernel in kernels), (capture.program, target)


def test_the_operations_issued_to_each_unit_match_libtpus_count(programs: list[Captures]) -> None:
    total = differing = 0
    for captures in programs:
        for capture in captures.values():
            for kernel in read_below(capture):
                total += len(HELD) * kernel.size
                differing += sum(_differences(kernel))
    assert total > 20_000
    assert differing <= total / 1000


def _differences(kernel: BundledKernel) -> list[int]:
    """Return the number of bundles of a kernel whose slot counts differ from libtpu's, by slot."""
    columns, difference_counts = list(kernel.utilization.slots), Counter[str]()
    for bundle, row in zip(kernel.bundles, kernel.utilization.rows, strict=True):
        if any(slot.operation in ALL_AT_ONCE for slot in bundle.slots):
            continue
        slot_counts = Counter(slot.mnemonic.unit.slot for slot in bundle.slots if slot.mnemonic)
        difference_counts.update(name for name in HELD if slot_counts[name] != row[columns.index(name)])
    return list(difference_counts.values())


@pytest.mark.parametrize(
    ("operation", "unit"),
    [
        ("vmatpush.bf16.msra.mxu0", "push"),
        ("vmatprep.mubr.f32.mxu1", "matmul"),
        ("vadd.f32", "alu"),
        ("vadd.xlane.f32.xlu0", "lanes"),
        ("dma.hbm_to_vmem", "dma"),
        ("dma.done.wait", "sync"),
        ("vexp2.f32", "transcendental"),
        ("vpop.f32.mrb[3].mxu0", "pop"),
    ],
)
def test_the_longest_known_prefix_of_a_mnemonic_decides(operation: str, unit: str) -> None:
    mnemonic = find_mnemonic(operation)
    assert mnemonic is not None
    assert mnemonic.unit.key == unit


def test_a_name_that_only_starts_like_a_known_one_is_unknown() -> None:
    assert find_mnemonic("vaddle.f32") is None


def test_every_unit_and_operation_has_a_sentence() -> None:
    assert {unit.slot for unit in list_units().values()} <= {*UNITS, ""}
    assert all(unit.sentence.endswith(".") for unit in list_units().values())
    assert all(mnemonic.sentence and not mnemonic.sentence.endswith(".") for mnemonic in list_mnemonics().values())
