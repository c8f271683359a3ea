"""Pictures and tables of TPU kernels: units, chains, steps and bundles."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chapters import bundle_picture
from programs import attention
from xla_inspect import capture_all
from xla_inspect.analysis.bundles import UNITS, BundledKernel, read_below

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def captures(all_targets: None) -> Captures:  # noqa: ARG001 - a fixture that skips
    """The captures of attention for two TPU generations."""
    targets = ("tpu-v5e", "tpu-v6e")
    return capture_all(attention.attention, *attention.EXAMPLE, targets=targets, machine=True, passes=False)


@pytest.fixture(scope="module")
def kernel(captures: Captures) -> BundledKernel:
    """The kernel of attention with two matmuls on a TPU v5e."""
    return next(kernel for kernel in read_below(captures["tpu-v5e"]) if kernel.low.kernel == "fusion.37")


def test_each_unit_that_is_busy_has_a_row_with_its_share(kernel: BundledKernel) -> None:
    chart = bundle_picture.draw_utilization(kernel)
    busy = {UNITS[unit][0]: share for unit, share in kernel.utilization.shares.items() if unit in UNITS and share}
    rows = dict(re.findall(r"<title>([^:]+): (\d+%) of its slots", chart))
    assert rows == {name: f"{share:.0%}" for name, share in busy.items()}
    assert all(f"{name} {share:.0%}" in chart for name, share in busy.items())


def test_rows_are_as_high_as_the_shares_and_fit_a_phone(kernel: BundledKernel) -> None:
    chart = bundle_picture.draw_utilization(kernel)
    boxes = [
        tuple(map(float, rectangle))
        for rectangle in re.findall(r'<rect x="(.*?)" y=".*?" width="(.*?)" height="(.*?)"', chart)
    ]
    assert max(x + width for x, width, _ in boxes) <= bundle_picture.WIDTH - bundle_picture.RIGHT + 0.2
    assert max(height for *_, height in boxes) <= bundle_picture.BAR
    area = sum(width * height for _, width, height in boxes)
    room = (bundle_picture.WIDTH - bundle_picture.LEFT - bundle_picture.RIGHT) * bundle_picture.BAR
    shares = [share for unit, share in kernel.utilization.shares.items() if unit in UNITS]
    assert area / room == pytest.approx(sum(shares), abs=0.05)


def test_the_longest_chain_fills_its_cycles(kernel: BundledKernel) -> None:
    picture = bundle_picture.draw_critical_path(kernel)
    assert kernel.critical_path is not None
    spans = [
        (int(start.replace(",", "")), int(cycles.replace(",", "")))
        for cycles, start in re.findall(r"(\S+) cycles? from cycle ([\d,]+)", picture)
    ]
    assert sum(cycles for _, cycles in spans) == kernel.critical_path.cycles
    assert spans[0][0] == 0
    assert [start for start, _ in spans[1:]] == [start + cycles for start, cycles in spans[:-1]]
    assert f"{kernel.critical_path.cycles} cycles, according to the compiler's estimate" in picture


def test_a_kernel_without_a_chain_has_no_picture_of_one(kernel: BundledKernel) -> None:
    assert bundle_picture.draw_critical_path(BundledKernel(replace(kernel.low, critical_path=""), None, None)) == ""


def test_bundles_are_counted_by_program_and_generation(captures: Captures) -> None:
    table = bundle_picture.matrix_bundles({"attention": ("Attention", captures)})
    counts = [bundle_picture.count_bundles(capture) for capture in captures.values()]
    assert re.findall(r"<td[^>]*>(\d+)", table) == [str(count) for count in counts]
    listed = bundle_picture.table_kernels(captures)
    kernels = [kernel for capture in captures.values() for kernel in read_below(capture) if kernel.is_kernel]
    assert listed.count("<code>") == len(kernels) == 8
    assert all(
        f"| line {kernel.line.number} | {kernel.size} | {kernel.cycles} |" in listed
        for kernel in kernels
        if kernel.line
    )


def test_steps_are_described_with_the_remaining_size(kernel: BundledKernel) -> None:
    loud, whole = bundle_picture.table_steps(kernel), bundle_picture.table_steps(kernel, silent=True)
    assert len(whole.splitlines()) == 2 + len(kernel.stages)
    assert 10 < len(loud.splitlines()) < len(whole.splitlines())
    assert "not known" not in whole
    assert f"| the finished bundles | {kernel.size} bundles |" in loud


def test_operations_are_grouped_by_unit(kernel: BundledKernel) -> None:
    table = bundle_picture.table_operations(kernel)
    assert [int(number) for number in re.findall(r"\| (\d+) \|", table)] == sorted(kernel.units.values(), reverse=True)


def test_bundles_are_shown_if_allowed_or_else_the_command_for_them(kernel: BundledKernel) -> None:
    command = "xla-inspect show attention.py:attention --stage code --target tpu-v5e --kernel fusion.37"
    hidden = bundle_picture.show_bundles(kernel, command, allowed=False)
    assert hidden == f"`{command}` prints the {kernel.size} bundles of fusion.37 on your own machine.\n"
    listing = bundle_picture.show_bundles(kernel, command, allowed=True)
    assert listing.count(" ;; ") == kernel.low.bundles.count(" ;; ") > 20


def test_no_table_or_picture_holds_the_text_of_a_bundle(captures: Captures, kernel: BundledKernel) -> None:
    tables = "".join(
        (
            bundle_picture.table_kernels(captures),
            bundle_picture.table_operations(kernel),
            bundle_picture.table_steps(kernel),
            bundle_picture.draw_utilization(kernel),
            bundle_picture.draw_critical_path(kernel),
        )
    )
    operations = {slot.operation for bundle in kernel.bundles for slot in bundle.slots if "." in slot.operation}
    assert {operation for operation in operations if operation in tables} == set()
    assert " ;; " not in tables


def test_a_bundle_is_shown_in_parts_if_allowed_or_else_described(kernel: BundledKernel) -> None:
    bundle = next(busy_bundle for busy_bundle in kernel.bundles if busy_bundle.units.get("push"))
    html = bundle_picture.show_bundle(kernel, bundle, allowed=True)
    hidden = bundle_picture.show_bundle(kernel, bundle, allowed=False)
    assert all(slot.operation in html for slot in bundle.slots)
    assert html.count("next slot") == 1
    assert len(hidden.splitlines()) == 2 + len(bundle.slots)
    assert all(slot.mnemonic.sentence in hidden for slot in bundle.slots if slot.mnemonic)
    assert [slot.operation for slot in bundle.slots if slot.operation in hidden] == []


def test_any_number_of_bundles_is_counted_exactly(monkeypatch: pytest.MonkeyPatch, captures: Captures) -> None:
    monkeypatch.setattr(bundle_picture, "count_bundles", lambda _: 12_345)
    assert "12,345</td>" in bundle_picture.matrix_bundles({"attention": ("Attention", captures)})
