"""The table of targets: complete entries, errors for unknown names, and figures that match XLA's."""

from __future__ import annotations

import pytest

from xla_inspect import InspectError
from xla_inspect.targets import ENTRIES, FAMILIES, TARGETS, find_entry, find_plugin, place, read_spec

GPUS = [name for name in TARGETS if find_entry(name).kind == "gpu"]
TPUS = [name for name in TARGETS if find_entry(name).kind == "tpu"]


def test_every_target_is_of_a_kind_and_has_a_title_that_its_maker_or_its_name_begins() -> None:
    for name, entry in ENTRIES.items():
        assert entry.kind in {"cpu", "gpu", "tpu"}
        assert entry.title.lower().replace(" ", "-").startswith((entry.maker.lower() or name, name))


def test_every_accelerator_belongs_to_one_family() -> None:
    assert [name for family in FAMILIES for name in family] == [name for name in TARGETS if name != "cpu"]
    assert [{find_entry(name).kind for name in family} for family in FAMILIES] == [{"gpu"}, {"gpu"}, {"tpu"}]


@pytest.mark.parametrize(
    ("target", "devices", "expected"),
    [
        ("cpu", 1, "cpu"),
        ("cpu", 8, "cpu:8"),
        ("h100", 4, "h100:4"),
        ("tpu-v5e", 1, "tpu-v5e"),
        ("tpu-v5e", 4, "tpu-v5e:2x2"),
        ("tpu-v4", 8, "tpu-v4:2x2x2"),
        ("tpu7x", 8, "tpu7x:2x2x1"),
    ],
)
def test_a_number_of_devices_is_the_count_of_a_gpu_and_the_grid_of_a_tpu(
    target: str, devices: int, expected: str
) -> None:
    assert place(target, devices) == expected


def test_a_grid_that_the_table_lacks_is_refused() -> None:
    with pytest.raises(InspectError, match="no grid of 3 devices for tpu-v5e, only grids of 4 and 8"):
        place("tpu-v5e", 3)


@pytest.mark.parametrize("name", ["rtx6000", "tpu-v9", "", "H100"])
def test_a_device_that_the_table_lacks_is_an_error_with_its_name(name: str) -> None:
    with pytest.raises(InspectError, match=f"no target is named '{name}'; .*targets are cpu, "):
        find_entry(name)


def test_a_gpu_without_figures_is_an_error_that_says_where_they_belong() -> None:
    with pytest.raises(InspectError, match=r"no figures of gpu: add them to .*/targets/gpu_specs/gpu\.txtpb"):
        read_spec("gpu")


@pytest.mark.parametrize("name", TPUS)
def test_a_tpu_has_grids_and_peaks(name: str) -> None:
    entry = find_entry(name)
    assert entry.peaks is not None
    assert {"8"} <= set(entry.grids)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("base", GPUS)
def test_a_gpu_spec_is_the_one_that_the_pinned_plugin_embeds(base: str) -> None:
    plugin = find_plugin(find_entry(base).platform)
    assert plugin
    assert read_spec(base).strip().encode() in plugin.read_bytes()
