"""Each nanosecond of a profile counts once, for the innermost event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import profiles
import pytest

from xla_inspect.traces import Timing, measure_times, open_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def on_cpu(name: str, start: float, duration: float) -> profiles.Ran:
    return profiles.Ran(name, start, duration, {"hlo_op": name, "hlo_module": "jit_f"})


def time(folder: Path, events: Sequence[profiles.Ran]) -> Timing:
    path = profiles.write_xspace(folder / "c.xplane.pb", {"/host:CPU": {"thread": events, "other": []}})
    return measure_times(open_trace(path))


def seconds(timing: Timing) -> dict[str, float]:
    return {row.op: pytest.approx(row.seconds * 1e9) for row in timing.rows}


def test_a_loop_has_the_time_that_its_body_leaves(tmp_path: Path) -> None:
    events = [
        on_cpu("while", 0, 100),
        on_cpu("a", 10, 30),
        on_cpu("b", 15, 5),
        on_cpu("c", 50, 50),
        on_cpu("d", 100, 7),
    ]
    timing = time(tmp_path, events)
    assert seconds(timing) == {"while": 20, "a": 25, "b": 5, "c": 50, "d": 7}
    assert timing.seconds == pytest.approx(107e-9)


def test_events_need_not_be_in_order(tmp_path: Path) -> None:
    assert seconds(time(tmp_path, [on_cpu("a", 10, 30), on_cpu("while", 0, 100)])) == {"while": 70, "a": 30}


def test_partially_overlapping_events_keep_their_time(tmp_path: Path) -> None:
    assert seconds(time(tmp_path, [on_cpu("a", 0, 100), on_cpu("b", 90, 50)])) == {"a": 100, "b": 50}


def test_host_threads_count_only_if_no_device_ran(tmp_path: Path) -> None:
    host = {"thread": [on_cpu("a", 0, 100), profiles.Ran("python", 0, 999)]}
    alone = measure_times(open_trace(profiles.write_xspace(tmp_path / "a.xplane.pb", {"/host:CPU": host})))
    assert (alone.device, seconds(alone)) == ("cpu", {"a": 100})
    device = {profiles.STREAM: [profiles.Ran("k", 0, 40)], profiles.OPS: [profiles.Ran("k", 0, 40)]}
    both = {"/host:CPU": host, "/device:GPU:0": device, "/device:GPU:1": device}
    timing = measure_times(open_trace(profiles.write_xspace(tmp_path / "b.xplane.pb", both)))
    assert (timing.device, timing.devices, timing.rows[0].count) == ("gpu", 2, 2)
    assert timing.seconds == pytest.approx(80e-9)


def test_the_operations_of_a_tpu_belong_to_the_module_running_at_that_time(tmp_path: Path) -> None:
    lines = {
        profiles.MODULES: [profiles.Ran("jit_f(12)", 0, 100), profiles.Ran("jit_g(13)", 100, 100)],
        profiles.OPS: [
            profiles.Ran("%add.1 = f32[] add(%a, %b)", 10, 5, {}, "add.1"),
            profiles.Ran("%add.1 = f32[] add(%a, %b)", 110, 7, {}, "add.1"),
            profiles.Ran("%add.1 = f32[] add(%a, %b)", 210, 9, {}, "add.1"),
        ],
    }
    timing = measure_times(open_trace(profiles.write_xspace(tmp_path / "t.xplane.pb", {"/device:TPU:0": lines})))
    assert {row.module: round(row.seconds * 1e9) for row in timing.rows} == {"jit_f": 5, "jit_g": 7, "": 9}


def test_a_profile_in_which_nothing_ran_is_empty(tmp_path: Path) -> None:
    timing = time(tmp_path, [profiles.Ran("python", 0, 10)])
    assert (timing.device, timing.rows, timing.seconds) == ("", (), 0)
