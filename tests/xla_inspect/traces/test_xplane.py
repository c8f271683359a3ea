"""Profiles of XLA's profiler are read as by JAX's own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import profiles
import pytest
from jax.profiler import ProfileData
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.questions.kernels import join_times
from xla_inspect.traces import measure_times, open_trace

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 2


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that jax.profiler writes for two runs on this machine's CPU."""
    folder = tmp_path_factory.mktemp("profile")
    with jax.default_device(jax.devices("cpu")[0]):
        arrays = jax.tree.map(lambda shape: jnp.full(shape.shape, 0.01, shape.dtype), EXAMPLE)
        jit = jax.jit(scanned)
        jax.block_until_ready(jit(*arrays))
        with jax.profiler.trace(str(folder)):
            for _ in range(RUNS):
                jax.block_until_ready(jit(*arrays))
    return folder


def test_every_event_matches_jaxs_reader(profiled: Path) -> None:
    (file,) = profiled.rglob("*.xplane.pb")
    source = open_trace(file)
    events = [
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
    assert events == [reference[:4] for reference in expected]
    assert any(reference[3] for reference in expected)
    for time, reference in zip(times, expected, strict=True):
        assert time == pytest.approx(reference[4:], abs=2)


def test_the_statistics_of_events_match_jaxs_reader(profiled: Path) -> None:
    (file,) = profiled.rglob("*.xplane.pb")
    details = [event.details for event in open_trace(file).events(detailed=True)]
    expected = [
        dict(event.stats)
        for plane in ProfileData.from_file(str(file)).planes
        for line in plane.lines
        for event in line.events
    ]
    for actual, reference in zip(details, expected, strict=True):
        assert {key: actual[key] for key in reference if isinstance(reference[key], int | str)} == {
            key: value for key, value in reference.items() if isinstance(value, int | str)
        }


def test_a_real_profile_is_matched_completely_from_each_file_and_the_folder(profiled: Path) -> None:
    program = capture(scanned, *EXAMPLE, target="cpu")
    (other,) = profiled.rglob("*.trace.json.gz")
    answers = [join_times(program, measure_times(open_trace(path))) for path in (profiled, other)]
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


NUMBERS = """planes {
  name: "/device:GPU:0"
  lines { name: "Stream #1" timestamp_ns: 9 events {
    metadata_id: 1 offset_ps: 2500 duration_ps: 500
    stats { metadata_id: 300 int64_value: -5 }
    stats { metadata_id: 2 uint64_value: 18446744073709551615 }
    stats { metadata_id: 3 double_value: 0.25 }
    stats { metadata_id: 4 str_value: "told" }
    stats { metadata_id: 5 bytes_value: "data" }
  } }
  event_metadata { key: 1 value { id: 1 name: "k" stats { metadata_id: 6 int64_value: 7 } } }
  stat_metadata { key: 300 value { id: 300 name: "signed" } }
  stat_metadata { key: 2 value { id: 2 name: "unsigned" } }
  stat_metadata { key: 3 value { id: 3 name: "real" } }
  stat_metadata { key: 4 value { id: 4 name: "text" } }
  stat_metadata { key: 5 value { id: 5 name: "bytes" } }
  stat_metadata { key: 6 value { id: 6 name: "of all" } }
}"""


def test_each_kind_of_value_is_read(tmp_path: Path) -> None:
    path = tmp_path / "n.xplane.pb"
    path.write_bytes(ProfileData.text_proto_to_serialized_xspace(NUMBERS))
    (event,) = open_trace(path).events(detailed=True)
    assert event.details == {
        "signed": -5, "unsigned": 2**64 - 1, "real": 0.25, "text": "told", "bytes": None, "of all": 7,
    }  # fmt: skip
    assert (event.start, event.duration) == (11.5, 0.5)
    (bare,) = open_trace(path).events()
    assert (bare.name, bare.start, bare.details) == ("k", 11.5, {})
