"""A profile of XLA's profiler is read as JAX's own reader reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import profiles
import pytest
from jax.profiler import ProfileData
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.answers import join_times
from xla_inspect.traces import measure, open_trace

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 2


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What jax.profiler writes of two runs on this machine's CPU."""
    folder = tmp_path_factory.mktemp("profile")
    with jax.default_device(jax.devices("cpu")[0]):
        arrays = jax.tree.map(lambda shape: jnp.full(shape.shape, 0.01, shape.dtype), EXAMPLE)
        compiled = jax.jit(scanned)
        jax.block_until_ready(compiled(*arrays))
        with jax.profiler.trace(str(folder)):
            for _ in range(RUNS):
                jax.block_until_ready(compiled(*arrays))
    return folder


def test_every_event_is_that_which_jax_reads(profiled: Path) -> None:
    (file,) = profiled.rglob("*.xplane.pb")
    source = open_trace(file)
    read = [
        (source.processes[event.process], source.threads[event.process, event.thread], event.name, event.op)
        for event in source.events()
    ]
    times = [(event.start, event.duration) for event in source.events()]
    expected = [
        (plane.name, line.name, event.name, str(dict(event.stats).get("hlo_op", "")), event.start_ns, event.duration_ns)
        for plane in ProfileData.from_file(str(file)).planes
        for line in plane.lines
        for event in line.events
    ]
    assert read == [each[:4] for each in expected]
    assert any(each[3] for each in expected)
    for found, each in zip(times, expected, strict=True):
        assert found == pytest.approx(each[4:], abs=2)


def test_what_is_said_of_events_is_that_which_jax_reads(profiled: Path) -> None:
    (file,) = profiled.rglob("*.xplane.pb")
    read = [event.details for event in open_trace(file).events(detailed=True)]
    expected = [
        dict(event.stats)
        for plane in ProfileData.from_file(str(file)).planes
        for line in plane.lines
        for event in line.events
    ]
    for found, each in zip(read, expected, strict=True):
        assert {key: found[key] for key in each if isinstance(each[key], int | str)} == {
            key: value for key, value in each.items() if isinstance(value, int | str)
        }


def test_a_real_profile_is_joined_whole_from_either_file_and_from_the_folder(profiled: Path) -> None:
    made = capture(scanned, *EXAMPLE, target="cpu")
    (other,) = profiled.rglob("*.trace.json.gz")
    answers = [join_times(made, measure(open_trace(path))) for path in (profiled, other)]
    for answer in answers:
        assert answer.joined_seconds / answer.seconds > 0.99
        assert not answer.unjoined
    assert answers[0].form == "XProf profile"
    assert answers[1].form == "Chrome trace"
    assert [(row.name, row.count) for row in answers[0].launches] == [
        (row.name, row.count) for row in answers[1].launches
    ]


def test_a_tpus_operation_is_known_by_its_short_name(tmp_path: Path) -> None:
    ran = profiles.Ran("%fusion.3 = f32[8]{0} fusion(%p), kind=kLoop", 1500, 250.5, {"tf_op": "jit(f)/add"}, "fusion.3")
    path = profiles.write_xspace(tmp_path / "t.xplane.pb", {"/device:TPU:0": {profiles.OPS: [ran]}})
    (event,) = open_trace(path).events(detailed=True)
    assert (event.name, event.op, event.start, event.duration) == ("fusion.3", "fusion.3", 2500, 250.5)
    assert event.details == {"long_name": ran.name, "tf_op": "jit(f)/add"}
