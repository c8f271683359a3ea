"""Statements about the packages that made captures."""

from __future__ import annotations

import pytest

from inside_xla.makers import describe_makers
from xla_inspect.targets import TILING_MODEL

VERSIONS = {"jaxlib": "2", "jax": "1"}


class Capture:
    """A stand-in for a capture with the same name and parts."""

    def __init__(self, target: str, options: dict[str, int] | None = None) -> None:
        self.target, self.options, self.versions = target, options or {}, VERSIONS


def test_captures_are_found_in_containers() -> None:
    capture = Capture("cpu")
    for container in (capture, [capture], {"a": {"b": (capture,)}}):
        assert describe_makers([container]) == ["CPU with jax 1 and jaxlib 2"]


def test_targets_that_the_same_versions_made_are_named_together() -> None:
    captures = [Capture("tpu-v5e:2x4"), Capture("cpu"), Capture("tpu-v5e"), Capture("cpu:8")]
    assert describe_makers(captures) == ["CPU and TPU v5e with jax 1 and jaxlib 2"]


@pytest.mark.parametrize(
    ("options", "tiles"),
    [
        ({TILING_MODEL: True}, "chosen by a cost model, not measured"),
        ({}, "the first on XLA's list, neither estimated nor measured"),
    ],
)
def test_a_gpus_captures_state_the_origin_of_their_tiles(options: dict[str, int], tiles: str) -> None:
    captures = [Capture("h100", {"xla_gpu_autotune_level": 0, **options}), Capture("cpu")]
    assert describe_makers(captures) == [
        "CPU with jax 1 and jaxlib 2",
        f"NVIDIA H100 with jax 1 and jaxlib 2, without a GPU: tiles of matmuls are {tiles}",
    ]


def test_a_capture_from_a_dump_has_no_known_makers() -> None:
    dumped = Capture("h100")
    dumped.versions = {}
    assert describe_makers([dumped, Capture("cpu")]) == ["CPU with jax 1 and jaxlib 2"]
