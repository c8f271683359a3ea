"""Tables of Nsight Systems in each unit, with surrounding output, and as sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.traces import measure_times, open_trace

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY = """Generating SQLite file net.sqlite from net.nsys-rep
Processing [net.sqlite] with [cuda_gpu_kern_sum.py]...

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,30000,10,3000.0,3000.0,2900,3100,1.0,loop_add_fusion
25.0,10000,1,10000.0,10000.0,10000,10000,0.0,"void cutlass::Kernel2<a, b>(Params)"
"""


def test_sums_are_read_with_their_counts(tmp_path: Path) -> None:
    path = tmp_path / "sum.csv"
    path.write_text(SUMMARY, encoding="utf-8")
    timing = measure_times(open_trace(path))
    assert timing.form == "Nsight summary"
    assert [(row.name, row.count, round(row.seconds * 1e9)) for row in timing.rows] == [
        ("loop_add_fusion", 10, 30_000),
        ("void cutlass::Kernel2<a, b>(Params)", 1, 10_000),
    ]


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("nsec", 1)])
def test_a_time_is_read_in_its_unit(unit: str, factor: float, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"Start ({unit}),Duration ({unit}),Strm,Name\n0,2,7,k\n3,2,7,k\n", encoding="utf-8")
    (row,) = measure_times(open_trace(path)).rows
    assert (row.count, row.seconds) == (2, pytest.approx(4 * factor * 1e-9))


def test_a_range_named_by_xla_identifies_the_instruction(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    name = "TSL:Thunk:#name=jit(f)/add,hlo_op=loop_add_fusion.1#/loop_add_fusion_1"
    path.write_text(f'Start (ns),Duration (ns),Strm,Name\n0,2,7,"{name}"\n', encoding="utf-8")
    (row,) = measure_times(open_trace(path)).rows
    assert (row.name, row.op) == ("loop_add_fusion_1", "loop_add_fusion.1")


def test_rows_that_hold_no_times_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = "0,nan,7,k\n0,-1,7,k\n,,,\n0,x,7,k\n0,1e999,7,k\n1,5,7,k\nshort\n"
    path.write_text(f"Start (ns),Duration (ns),Strm,Name\n{rows}", encoding="utf-8")
    assert [(row.name, row.count) for row in measure_times(open_trace(path)).rows] == [("k", 1)]
