"""Release records are complete, small and round-trip; only planted changes are reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import stamps
from xla_inspect.errors import InspectError
from xla_inspect.releases import order
from xla_inspect.releases import release_record as records
from xla_inspect.releases.pass_drift import SetChange
from xla_inspect.releases.release_diff import Drift
from xla_inspect.releases.release_record import Release, ReleaseCompile, ReleaseOutcome

DATA = Path(__file__).resolve().parents[3] / "docs" / "data" / "drift"
MOST_BYTES = 600_000
RECORDS = records.read_releases(DATA)


@pytest.fixture
def release() -> Release:
    """A real record, cut down to three programs."""
    newest = RECORDS[-1]
    return replace(newest, programs={name: newest.programs[name] for name in ("layer", "softmax", "gelu")})


def plant(release: Release, program: str, target: str, **outcome_changes: object) -> Release:
    """Return the record with changes of the outcome of one program on one target."""
    release_program = release.programs[program]
    outcome = replace(release_program.outcomes[target], **outcome_changes)
    changed_program = replace(release_program, outcomes={**release_program.outcomes, target: outcome})
    return replace(release, programs={**release.programs, program: changed_program})


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_a_record_is_small_names_what_made_it_and_reads_back_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    release = records.read_release(text)
    assert stamps.seal(records.write_release(release)) == text
    assert release.jax == path.stem == release.versions["jax"]
    assert len(text) < MOST_BYTES
    assert {"cpu", "h100", "tpu-v5e"} <= set(release.targets)


def test_at_least_four_releases_are_recorded_the_oldest_first() -> None:
    assert len(RECORDS) >= 4
    assert [record.order for record in RECORDS] == sorted(record.order for record in RECORDS)


def test_releases_are_ordered_by_number_and_not_by_letter() -> None:
    assert order("0.9.2") < order("0.10.0") < order("0.12.0") < order("0.12.0.1")


def test_each_release_compiled_with_its_own_compilers() -> None:
    for package in ("jaxlib", "jax-cuda13-plugin"):
        assert len({record.versions[package] for record in RECORDS}) == len(RECORDS)
    # Of a release that only mends another, `jax[tpu]` may ask for the same.
    assert len({record.versions["libtpu"] for record in RECORDS}) > len(RECORDS) // 2


def test_a_file_in_another_format_is_rejected_by_name(tmp_path: Path) -> None:
    (tmp_path / "0.1.json").write_text('{"format": 0}', encoding="utf-8")
    with pytest.raises(InspectError, match=r"0\.1\.json: a release of another format than 1"):
        records.read_releases(tmp_path)
    (tmp_path / "0.1.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InspectError, match=r"0\.1\.json: no release of JAX as `scripts/drift` writes it"):
        records.read_releases(tmp_path)


def test_targets_that_agree_share_a_line(release: Release) -> None:
    gelu = release.programs["gelu"]
    same = ReleaseCompile(gelu.jaxpr, {}, dict.fromkeys(("a100", "h100"), ReleaseOutcome(launches={"fusion kLoop": 1})))
    text = records.write_release(replace(release, programs={"gelu": same}))
    assert list(json.loads(text)["programs"]["gelu"]["targets"]) == ["a100 h100"]
    assert records.read_release(text).programs["gelu"] == same


def test_a_release_does_not_differ_from_itself(release: Release) -> None:
    same = Drift(release, release)
    assert (same.launches, same.traced, same.lowered, same.names, same.reprinted) == ({}, {}, {}, {}, ((), ()))
    assert same.numbers(lambda outcome: outcome.instructions) == ()
    assert same.passes("gpu").total == 0


def test_a_planted_launch_is_reported_for_its_program_and_target_alone(release: Release) -> None:
    before = release.programs["layer"].outcomes["cpu"].launches
    drift = Drift(release, plant(release, "layer", "cpu", launches={**before, "fusion kInput": 2}))
    assert drift.launches == {("layer", "cpu"): {"fusion kInput": 2}}
    assert drift.changed_programs("cpu") == ("layer",)
    assert drift.changed_programs("h100") == ()
    assert drift.sorts("cpu") == {"fusion kInput": 2}


def test_planted_bytes_are_reported_with_both_numbers(release: Release) -> None:
    memory = release.programs["softmax"].outcomes["h100"].memory
    new = plant(release, "softmax", "h100", memory={**memory, "temporaries": 4096})
    (change,) = Drift(release, new).numbers(lambda outcome: outcome.memory.get("temporaries", 0))
    assert (change.program, change.target, change.before, change.after) == (
        "softmax", "h100", memory.get("temporaries", 0), 4096,
    )  # fmt: skip


def test_code_round_trips_and_missing_code_differs_from_unrecorded_code(release: Release) -> None:
    code = {0: {"llvm.exp": 2, "store": 1}, 1: {"fmul of vectors": 3}}
    for code_record in (code, {}, None):
        planted = plant(release, "layer", "cpu", code=code_record)
        assert (
            records.read_release(records.write_release(planted)).programs["layer"].outcomes["cpu"].code == code_record
        )


def test_other_code_of_a_program_that_launches_the_same_is_reported_with_its_operations(release: Release) -> None:
    old = plant(release, "layer", "cpu", code={0: {"store": 1}, 1: {"fmul": 2, "fadd": 2}})
    new = plant(release, "layer", "cpu", code={0: {"store": 1}, 1: {"fmul": 2, "expf": 8}})
    (change,) = Drift(old, new).rewritten
    assert (change.program, change.target, change.deepest) == ("layer", "cpu", (1, 1))
    assert change.operations == {"expf": 8, "fadd": -2}
    # Outside of loops nothing changed; within, where an operation counts eight times, 0.8 of the mix did.
    assert change.share == pytest.approx(0.8 * 8 / 9)


def test_slightly_rearranged_code_and_code_of_other_launches_are_not_reported(
    release: Release,
) -> None:
    old = plant(release, "layer", "cpu", code={1: {"fmul": 2, "fadd": 2}})
    assert Drift(old, plant(release, "layer", "cpu", code={1: {"fmul": 4, "fadd": 4}})).rewritten == ()
    assert Drift(old, plant(release, "layer", "cpu", code={1: {"fmul": 2, "fadd": 1, "fsub": 1}})).rewritten == ()
    assert Drift(old, plant(release, "layer", "cpu", code={1: {"expf": 1}}, launches={"call": 1})).rewritten == ()
    assert Drift(old, plant(release, "layer", "cpu", code=None)).rewritten == ()


def test_code_of_fewer_kernels_than_before_is_not_compared(release: Release) -> None:
    """A release may dump no code for some kernels, so only equal numbers of kernels are compared."""
    old = plant(release, "layer", "h100", code={0: {"st.shared.b32": 9}}, entries=2)
    fewer, same = (plant(release, "layer", "h100", code={0: {"ex2": 1}}, entries=entries) for entries in (1, 2))
    assert ("layer", "h100") not in Drift(old, fewer).coded
    assert [change.program for change in Drift(old, same).rewritten] == ["layer"]


def test_a_program_that_no_longer_compiles_is_reported_with_the_error_only(
    release: Release,
) -> None:
    drift = Drift(release, plant(release, "gelu", "tpu-v5e", failed="Unimplemented: erf", launches={}))
    assert drift.newly_failing == {("gelu", "tpu-v5e"): "Unimplemented: erf"}
    assert drift.launches == {}
    assert Drift(drift.new, release).newly_compiling == {("gelu", "tpu-v5e"): "Unimplemented: erf"}


def test_a_removed_public_name_is_listed_with_its_module(release: Release) -> None:
    names = {**release.names, "jax.lax": tuple(name for name in release.names["jax.lax"] if name != "cumsum")}
    assert Drift(release, replace(release, names=names)).names == {"jax.lax": SetChange((), ("cumsum",))}
    without = {module: public for module, public in release.names.items() if module != "jax.tree"}
    assert Drift(release, replace(release, names=without)).names == {
        "jax.tree": SetChange((), release.names["jax.tree"])
    }


def test_a_parameter_that_a_primitive_gains_is_reported(release: Release) -> None:
    parameters = {**release.parameters, "exp": (*release.parameters["exp"], "rounding")}
    assert Drift(release, replace(release, parameters=parameters)).parameters == {"exp": SetChange(("rounding",), ())}
