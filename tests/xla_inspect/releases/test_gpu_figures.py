"""A CUDA plugin gets only the GPU figures for which its descriptors have a field."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from google.protobuf import text_format

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests are found by path

from messages import find_message

from xla_inspect.releases.gpu_figures import adapt_figures, count_figures
from xla_inspect.targets import TARGETS, find_entry, find_target, read_spec

GPUS = [name for name in TARGETS if find_entry(name).kind == "gpu"]


@pytest.fixture(scope="module")
def plugin() -> Path:
    if reason := find_target("h100").obstacle:
        pytest.skip(reason)
    spec = importlib.util.find_spec("jax_plugins.xla_cuda13")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent / "xla_cuda_plugin.so"


@pytest.mark.parametrize("name", GPUS)
def test_the_remaining_fields_match_protobufs(name: str, plugin: Path) -> None:
    file, message = "xla/stream_executor/device_description.proto", "stream_executor.GpuTargetConfigProto"
    config = find_message(plugin, file, message)
    parse = text_format.Parse(read_spec(name), config(), allow_unknown_field=True)
    assert text_format.Parse(adapt_figures(read_spec(name), plugin), config()) == parse


def test_a_figure_without_a_field_in_the_plugin_is_left_out(plugin: Path) -> None:
    spec = read_spec("h100")
    more = spec.replace(
        "gpu_device_info {\n",
        "gpu_device_info {\n  made_up: 3\n  made_up_part {\n    major: 9\n    inner {\n      a: 1\n    }\n  }\n",
        1,
    )
    assert count_figures(more) == count_figures(spec) + 3
    assert adapt_figures(more, plugin) == adapt_figures(spec, plugin)
