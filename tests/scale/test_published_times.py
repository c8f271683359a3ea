"""Published times: complete rows, held-out rows by the stated rule, and programs of the published size and work."""

from __future__ import annotations

import math

import jax
import pytest
from jax.sharding import PartitionSpec as P

from published.times import (
    UNITS,
    count_chips,
    count_flops,
    count_parameters,
    find_program,
    find_seconds,
    read_times,
    scale_time,
)
from xla_inspect.targets import TARGETS, find_hardware

TIMES = read_times()
ROWS, VARIANTS = TIMES["rows"], TIMES["variants"]
ENTRIES = {**ROWS, **VARIANTS, **TIMES["worked"]}
STEPS = {name: entry for name, entry in ENTRIES.items() if entry.get("parameters")}
# One step of each form: steps of one form differ only in sizes.
FORMS = {
    (model.attention, model.gpt, model.remat, model.names, model.kv_heads > 0, model.dtypes): name
    for name, entry in STEPS.items()
    if (model := find_program(entry).model)
}
COUNTED = {name: row for name, row in ROWS.items() if "counted" in row}
RATES = {"TFLOP/s", "TFLOP/s per chip", "sequences/s", "tokens/s"}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_a_source_a_program_and_a_figure_that_its_quote_contains(name: str) -> None:
    entry = ENTRIES[name]
    assert set(TIMES["sources"][entry["source"]]) == {"title", "url", "date"}
    assert entry["target"].partition(":")[0] in TARGETS
    assert entry["unit"] in {*UNITS, *RATES}
    assert entry["place"]
    digits = f"{entry['figure']:.10g}".rstrip("0").rstrip(".")
    assert digits in entry["quote"].replace(",", "")
    assert (":" in entry["target"]) == ("mesh" in entry)


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if "mesh" in entry])
def test_a_mesh_has_as_many_devices_as_its_target_and_all_axes_of_its_program(name: str) -> None:
    entry = ENTRIES[name]
    axes = dict(axis.split("=") for axis in entry["mesh"].split(","))
    devices = 2 if entry["target"].startswith("tpu7x") else 1
    assert math.prod(map(int, axes.values())) == devices * count_chips(entry)
    specs = jax.tree.leaves(find_program(entry).arguments["specs"], is_leaf=lambda leaf: isinstance(leaf, P))
    used = {axis for spec in specs for part in spec for axis in ([part] if isinstance(part, str) else part or ())}
    assert used <= set(axes)


def test_every_row_says_how_its_program_differs_and_whether_it_is_held_out() -> None:
    fields = {"source", "kind", "program", "target", "figure", "unit", "place", "quote", "differs", "held_out"}
    assert {name for name, row in ROWS.items() if not fields <= set(row) or not row["differs"]} == set()
    assert {row["kind"] for row in ROWS.values()} == {"step", "kernel", "collective"}


def test_every_second_row_in_the_order_of_sources_and_names_is_held_out() -> None:
    order = sorted(ROWS, key=lambda name: (ROWS[name]["source"], name))
    assert [name for name in order if ROWS[name]["held_out"]] == order[1::2]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_the_published_number_of_parameters(name: str) -> None:
    entry = STEPS[name]
    tolerance = 0 if entry["exact"] else 0.02
    assert count_parameters(find_program(entry)) == pytest.approx(entry["parameters"], rel=tolerance)


@pytest.mark.parametrize("name", [name for name, row in COUNTED.items() if "model_tflop" in row])
def test_a_step_has_the_published_model_flops(name: str) -> None:
    assert count_flops(COUNTED[name]) / 1e12 == pytest.approx(COUNTED[name]["model_tflop"], rel=0.01)


@pytest.mark.filterwarnings("ignore:jax.experimental.pallas.ops.gpu.attention is deprecated")
@pytest.mark.parametrize("name", FORMS.values())
def test_a_step_traces_and_returns_a_state_of_the_same_form(name: str) -> None:
    program = find_program(STEPS[name])
    with jax.set_mesh(jax.make_mesh((1, 1), ("fsdp", "tensor"), (jax.sharding.AxisType.Auto,) * 2)):
        state, _ = jax.eval_shape(program.function, *program.example)
    assert jax.tree.map(str, state) == jax.tree.map(str, program.example[0])


@pytest.mark.parametrize("name", ENTRIES)
def test_no_published_rate_exceeds_the_peak_of_its_chip(name: str) -> None:
    entry, hardware = ENTRIES[name], find_hardware(ENTRIES[name]["target"])
    assert hardware is not None
    flops = count_flops(entry) if "counted" in entry else getattr(find_program(entry), "flops", 0)
    peak = hardware.matrix["bf16"] * (hardware.devices if "counted" in entry else 1)
    assert flops / find_seconds(entry) < peak


@pytest.mark.parametrize("name", TIMES["pairs"])
def test_the_faster_variant_of_a_pair_has_the_smaller_published_time(name: str) -> None:
    pair = TIMES["pairs"][name]
    sides = [{**ROWS, **VARIANTS}[pair[side]] for side in ("faster", "slower")]
    faster, slower = (scale_time(side, find_seconds(side), pair["per"]) for side in sides)
    assert faster < 0.98 * slower
