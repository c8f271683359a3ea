"""The recorded times of small operations: the table and the check of the page about when compilation helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from programs import timed
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Mapping


WAYS = ("first", "NumPy", "eager", "jit")
"""The recorded times of each program and size: the first call under `jit`, and later calls in three ways."""


def _find_crossover(rows: Mapping[str, Mapping[str, float]]) -> int:
    """Return the smallest number of elements at and above which `jit` takes at most nine tenths of NumPy's time."""
    slower = [size for size, times in rows.items() if times["jit"] > 0.9 * times["NumPy"]]
    sizes = list(rows)
    return int(sizes[sizes.index(slower[-1]) + 1])


def _count_calls_to_repay(times: Mapping[str, float]) -> int | None:
    """Return the number of calls that save as much as the first call costs; None if `jit` saves less than a tenth."""
    saved = times["eager"] - times["jit"]
    return round(times["first"] / saved) if saved > 0.1 * times["eager"] else None


def show_times(small: Mapping[str, Any]) -> str:
    """Return a table of the sizes at and above which `jit` is faster than NumPy, and a fold with all recorded times."""
    rows, whole = [], []
    for device, programs in small["times"].items():
        for program, sizes in programs.items():
            names = (device.replace("cpu", "CPU"), program)
            calls = _count_calls_to_repay(sizes["8"])
            compared = (f"{sizes['8'][way]:,.0f}" for way in WAYS[1:])
            rows.append((*names, *compared, f"{calls:,}" if calls else "never", f"{_find_crossover(sizes):,}"))
            whole += [
                (*names, f"{int(size):,}", *(f"{times[way]:,.1f}" for way in WAYS)) for size, times in sizes.items()
            ]
    ways = [f"{way.replace('first', 'first call')}, µs" for way in WAYS]
    header = [
        "device",
        "program",
        *ways[1:],
        "calls until jit saves time, compared with eager",
        "elements at and above which jit is faster than NumPy",
    ]
    every = markdown.cards(["device", "program", "elements", *ways], whole)
    return f"{markdown.cards(header, rows)}\n{markdown.fold('All sizes', every)}"


def check_times(small: Mapping[str, Any]) -> None:
    """Assert that `jit` saves time only for ten operations, and that an H100's time depends little on the size."""
    assert [list(programs) for programs in small["times"].values()] == [list(timed.FUNCTIONS)] * 2
    for one, ten in (programs.values() for programs in small["times"].values()):
        assert _count_calls_to_repay(one["8"]) is None
        assert (_count_calls_to_repay(ten["8"]) or 0) > 10
        assert one["8"]["NumPy"] < 0.5 * one["8"]["jit"]
        assert _find_crossover(ten) < _find_crossover(one)
    fewest, *_, most = (times["jit"] for times in list(small["times"].values())[1]["ten operations"].values())
    assert most < 1.5 * fewest
