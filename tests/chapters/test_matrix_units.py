"""Counts of matrix-unit operations by element type."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from chapters import matrix_units
from programs import layer
from xla_inspect import capture

if TYPE_CHECKING:
    from xla_inspect.captured import Capture


@pytest.mark.parametrize(
    ("operations", "mnemonic", "expected_counts"),
    [
        (["vmatmul.bf16.gmra.mxu0", "vmatmul.mubr.bf16.mrb[0].mxu1"], "vmatmul", {"bf16": 2}),
        (["vmatmul.mubr.f8e4m3fn.mrb[0].mxu0", "vmatmul.msk.f32.gmra.mxu2"], "vmatmul", {"f8e4m3fn": 1, "f32": 1}),
        (["vmatpush.msra.mxu0", "vmatmul.s8.mxu0"], "vmatpush", {"f32": 1}),
        (["vpack.c.f32.bf16", "vunpack.c.0.if8.f32"], "vpack", {"bf16": 1}),
        (["vunpack.c.l.e4m3.bf16", "vunpack.c.l.s8.bf16"], "vunpack", {"bf16": 2}),
    ],
)
def test_an_operation_counts_for_its_result_type(
    monkeypatch: pytest.MonkeyPatch, operations: list[str], mnemonic: str, expected_counts: dict[str, int]
) -> None:
    kernels = [
        SimpleNamespace(
            bundles=[SimpleNamespace(slots=[SimpleNamespace(operation=name) for name in listed])],
            is_kernel=listed is operations,
        )
        for listed in (operations, [mnemonic])
    ]
    monkeypatch.setattr(matrix_units, "read_below", lambda _: kernels)
    empty = cast("Capture", None)
    assert dict(matrix_units.count_types(empty, mnemonic)) == expected_counts


@pytest.mark.usefixtures("all_targets")
def test_a_matmul_of_f32_is_packed_into_bf16_before_a_tpus_matrix_units() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)
    assert (
        set(matrix_units.count_types(program, "vmatmul")) == set(matrix_units.count_types(program, "vpack")) == {"bf16"}
    )
