"""The drawing of sharded arrays with the part of one device."""

from __future__ import annotations

import html
import re

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from chapters import shard_picture
from xla_inspect import Capture, capture


@pytest.fixture(scope="module")
def halved() -> Capture:
    """The capture of a sum of two matrices on eight CPU devices, one sharded by rows, one in both dimensions."""
    matrix = jax.ShapeDtypeStruct((64, 256), jnp.float32)
    specs = (P("a"), P("a", "b"))
    return capture(lambda x, y: x + y, matrix, matrix, target="cpu:8", mesh={"a": 4, "b": 2}, specs=specs)


def test_a_part_is_drawn_to_the_scale_of_the_whole(halved: Capture) -> None:
    picture = shard_picture.draw_shards({"way": halved}, "Parts", names=("x", "y"))
    sizes = re.findall(r'<rect (?:class="part" )?x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', picture)
    (whole, rows, _, block) = [(float(width), float(height)) for width, height in sizes]
    # Sides are drawn by their square roots.
    assert rows == (whole[0], whole[1] / 2)
    assert block == pytest.approx((whole[0] / 2**0.5, whole[1] / 2), abs=0.1)


def test_shapes_are_labeled(halved: Capture) -> None:
    labels = html.unescape(shard_picture.draw_shards({"way": halved}, "Parts", names=("x", "y")))
    assert "Parts. way: x: 16×256 of 64×256, y: 16×128 of 64×256" in labels  # noqa: RUF001 - the sign between sizes
