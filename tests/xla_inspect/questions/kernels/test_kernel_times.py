"""Profile events are matched to launches, each nanosecond once, and unmatched ones are listed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import profiles
import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis import list_launches
from xla_inspect.analysis.estimates import Estimate, find_rates
from xla_inspect.answers import describe_json
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.kernels.kernel_times import KernelTimes
from xla_inspect.questions.kernels.profile_join import Names, join_times
from xla_inspect.traces import Event, measure_times, open_trace

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 2


def join(target: str, path: Path) -> KernelTimes:
    return join_times(capture(scanned, *EXAMPLE, target=target), measure_times(open_trace(path)))


def test_gpu_kernels_are_matched_by_the_instruction_in_the_profile(tmp_path: Path) -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    planes = profiles.profile_gpu(program, STEPS)
    answer = join("h100", profiles.write_xspace(tmp_path / "g.xplane.pb", planes))
    rows = {row.name: row for row in answer.launches}
    assert rows.keys() == {launch.name for launch in list_launches(program)}
    for launch in list_launches(program):
        template = profiles.KERNEL if launch.thunk and launch.thunk.symbol else profiles.COPY
        count = STEPS * (launch.runs or 1)
        assert (rows[launch.name].count, rows[launch.name].seconds) == (count, pytest.approx(count * template * 1e-9))
        assert rows[launch.name].known_by == "name"
    # The profile also has a line of operations, with the same events. They must not count twice.
    stream = planes["/device:GPU:0"][profiles.STREAM]
    assert answer.seconds == pytest.approx(sum(event.duration for event in stream) * 1e-9)
    assert answer.other_seconds == {"jit_other": pytest.approx(700e-9)}
    reasons = {template.name: template.reason for template in answer.unjoined}
    assert "a kernel of a library" in reasons[profiles.LIBRARY]
    assert "a copy" in reasons[profiles.HOST_COPY]
    assert not answer.unseen
    assert answer.holds
    # The estimate of a kernel leaves out the gap after it, and so does its time in a profile.
    inside = estimated = 0
    rates = find_rates("h100")
    assert rates is not None
    for listed in rank_launches(program).launches:
        estimate, count = rows[listed.name].estimate, rows[listed.name].count
        assert listed.time is not None
        # Other launches overlap an asynchronous one, so its estimate is not the time in a profile.
        assert (estimate is None) == bool(listed.hidden_seconds)
        if estimate:
            assert estimate.likely == pytest.approx(listed.time.likely / (listed.runs or 1) - rates.gap.likely)
            estimated += 1
            inside += estimate.low * count <= rows[listed.name].seconds <= estimate.high * count
    assert estimated > len(rows) / 2
    assert f"{inside} of {estimated} measured times are in their range" in " ".join(str(answer).split())
    # A time is in the range of an estimate that leaves out a part if it is longer than that.
    least = Estimate(low=0.0, likely=1e-12, high=2e-12, is_least=True)
    rows_of_least = (replace(row, estimate=least if row.estimate else None) for row in answer.launches)
    text = " ".join(str(replace(answer, launches=tuple(rows_of_least))).split())
    assert f"{estimated} of {estimated} measured times are in their range" in text


def test_all_formats_of_a_profile_give_the_same_times(tmp_path: Path) -> None:
    for target, profile in (("h100", profiles.profile_gpu), ("tpu-v5e", profiles.profile_tpu)):
        planes = profile(capture(scanned, *EXAMPLE, target=target))
        answers = [
            join(target, profiles.write_xspace(tmp_path / "a.xplane.pb", planes)),
            join(target, profiles.write_chrome(tmp_path / "a.json.gz", planes)),
            join(target, profiles.write_chrome(tmp_path / "a.json", planes)),
        ]
        times = [[(row.name, row.count, round(row.seconds * 1e9)) for row in answer.launches] for answer in answers]
        assert times[0] == times[1] == times[2]


def test_the_symbols_in_a_nsight_profile_identify_all_generated_kernels(tmp_path: Path) -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    answer = join("h100", profiles.write_nsight(tmp_path / "g.csv", profiles.profile_gpu(program)))
    generated = {launch.name for launch in list_launches(program) if launch.thunk and launch.thunk.symbol}
    assert {row.name for row in answer.launches} == generated
    assert {row.known_by for row in answer.launches} == {"symbol"}
    reasons = [unjoined.reason for unjoined in answer.unjoined]
    assert sum("a copy" in reason for reason in reasons) == 2
    assert set(answer.unseen) == {launch.name for launch in list_launches(program)} - generated
    assert "equal symbols of other programs are counted too" in " ".join(str(answer).split())


SHAPES = [jax.ShapeDtypeStruct(size, jnp.float32) for size in ((8, 64, 32, 32), (64, 64, 3, 3))]


def convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jnp.sum(jax.nn.relu(jax.lax.conv(jnp.tanh(x) * 2, kernel, (1, 1), "SAME")))


def test_a_library_kernel_is_identified_by_the_kernels_before_and_after_it(tmp_path: Path) -> None:
    program = capture(convolved, *SHAPES, target="h100")
    (library,) = (launch for launch in list_launches(program) if launch.opcode == "custom-call")
    planes = profiles.profile_gpu(program, STEPS)
    source = open_trace(profiles.write_nsight(tmp_path / "g.csv", planes))
    row = next(
        row
        for row in join_times(program, measure_times(source, Names(program).symbols)).launches
        if row.name == library.name
    )
    assert (row.known_by, row.count, row.seconds) == ("order", STEPS, pytest.approx(STEPS * profiles.COPY * 1e-9))
    # A kernel of the same name that ran before the program matches no launch, and without the order, none matches.
    (other,) = (
        row
        for row in join_times(program, measure_times(source, Names(program).symbols)).unjoined
        if "of a lib" in row.reason
    )
    assert (other.name, other.count) == (profiles.LIBRARY, 1)
    assert library.name not in {row.name for row in join_times(program, measure_times(source)).launches}


def test_an_event_that_could_be_either_of_two_launches_matches_none() -> None:
    program = capture(convolved, *SHAPES, target="h100")
    names = Names(program)
    order = [launch.name for launch in list_launches(program)]
    by_symbol = {launch.thunk.symbol: launch.name for launch in list_launches(program) if launch.thunk}
    pairs = [(a, b) for a in names.symbols for b in names.symbols]
    matches = {pair: name for pair in pairs if (name := names.find_between(*pair, is_copy=False))}
    assert len(matches) == 1
    ((before, after),) = matches
    assert order.index(by_symbol[after]) - order.index(by_symbol[before]) == 2
    # The launch is a library call, not a copy. The first and the last event could belong to another program.
    assert not any(names.find_between(*pair, is_copy=True) for pair in pairs)
    assert not names.find_between("", after, is_copy=False)
    assert not names.find_between(before, "", is_copy=False)


def test_the_time_of_a_tpu_loop_excludes_its_body(tmp_path: Path) -> None:
    program = capture(scanned, *EXAMPLE, target="tpu-v5e")
    planes = profiles.profile_tpu(program, STEPS)
    answer = join("tpu-v5e", profiles.write_xspace(tmp_path / "t.xplane.pb", planes))
    loop = next(instruction for instruction in program.module.entry if instruction.opcode == "while")
    rows = {row.name: row for row in answer.launches}
    # The loop's own time is only its start, since its iterations follow each other without gaps in this profile.
    assert rows[loop.name].seconds == pytest.approx(STEPS * profiles.KERNEL * 1e-9)
    assert not rows[loop.name].role
    steps = planes["/device:TPU:0"]["Steps"][0].duration * 1e-9
    assert sum(row.seconds for row in answer.launches) <= steps
    # Operations of another program may have the same names as those of this one.
    assert answer.other_seconds["jit_other"] == pytest.approx(STEPS * 900e-9)


def test_the_wait_for_an_asynchronous_copy_belongs_to_the_copy() -> None:
    program = capture(scanned, *EXAMPLE, target="tpu-v5e")
    names = Names(program)
    started = [launch for launch in list_launches(program) if launch.is_async]
    assert started
    for launch in started:
        (finish,) = program.module.users(launch.scheduled)
        assert names.find(finish.name, "", program.module.name) == (launch.name, "name")


def test_a_profile_of_another_device_does_not_hold_and_names_the_option(tmp_path: Path) -> None:
    planes = profiles.profile_gpu(capture(scanned, *EXAMPLE, target="h100"))
    answer = join("cpu", profiles.write_xspace(tmp_path / "g.xplane.pb", planes))
    assert not answer.holds
    assert str(answer).startswith("g.xplane.pb comes from a GPU, but the capture is for CPU")


def test_a_profile_of_another_program_does_not_hold_and_names_that_program(tmp_path: Path) -> None:
    planes = {"/device:GPU:0": {profiles.STREAM: [profiles.Ran("k", 0, 5, {"hlo_op": "k", "hlo_module": "jit_g"})]}}
    answer = join("h100", profiles.write_xspace(tmp_path / "g.xplane.pb", planes))
    assert not answer.holds
    assert "Other programs in the profile: jit_g 5 ns." in str(answer)
    assert "The module of scanned is jit_scanned" in str(answer)


def test_another_compilation_with_the_same_name_is_suggested_as_a_cause(tmp_path: Path) -> None:
    stats = {"hlo_op": "loop_fusion.99", "hlo_module": "jit_scanned"}
    planes = {"/device:GPU:0": {profiles.STREAM: [profiles.Ran("loop_fusion_99", 0, 5, stats)]}}
    answer = join("h100", profiles.write_xspace(tmp_path / "g.xplane.pb", planes))
    assert "most of its names are missing from this compilation" in " ".join(str(answer).split())


def test_programs_with_the_same_name_are_counted(tmp_path: Path) -> None:
    name = next(launch.name for launch in list_launches(capture(scanned, *EXAMPLE, target="h100")))
    for numbers in (["7", "7"], ["7", "8"]):
        events = [
            profiles.Ran("k", at, 1, {"hlo_op": name, "hlo_module": "jit_scanned", "program_id": number})
            for at, number in enumerate(numbers)
        ]
        planes = {"/device:GPU:0": {profiles.STREAM: events}}
        for path in (
            profiles.write_xspace(tmp_path / "g.xplane.pb", planes),
            profiles.write_chrome(tmp_path / "g.json", planes),
        ):
            answer = join("h100", path)
            assert answer.programs == len(set(numbers))
            assert ("2 programs with the name jit_scanned" in str(answer)) == (answer.programs == 2)


def test_the_answer_fits_80_columns_and_every_field_has_a_json_form(tmp_path: Path) -> None:
    planes = profiles.profile_gpu(capture(scanned, *EXAMPLE, target="h100"))
    answer = join("h100", profiles.write_nsight(tmp_path / "g.csv", planes))
    assert max(map(len, str(answer).splitlines())) <= 80
    assert describe_json(KernelTimes)["title"] == "KernelTimes"


def test_kernels_in_a_command_buffer_are_identified_by_symbol() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    names = Names(program)
    thunk = next(thunk for thunk in program.thunks if thunk.symbol.startswith("sort"))
    assert names.find("command_buffer_5", thunk.symbol, program.module.name) == (thunk.name, "symbol")
    assert names.find("", f"{thunk.symbol}__1", "") == (thunk.name, "symbol")
    label = names.label(Event("1", "1", thunk.symbol, "", "", 0, 1))
    assert label is not None
    assert label.details["operands"].startswith("f32[8,64,128]")
