"""The picture of overlap: kernels of a schedule and concurrent collectives."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest

from chapters import overlap_picture
from programs import gathered
from xla_inspect import Capture, capture

FLAGS = {"xla_gpu_all_gather_combine_threshold_bytes": 0}


@pytest.fixture(scope="module")
def gathers() -> Capture:
    """The capture of four layers on eight H100s, with a separate gather for each layer."""
    mesh, specs = {"x": 8}, gathered.SPECS
    return capture(gathered.gathered, *gathered.EXAMPLE, target="h100:8", options=FLAGS, mesh=mesh, specs=specs)


@pytest.mark.usefixtures("all_targets")
def test_a_synchronous_collective_has_its_own_place(gathers: Capture) -> None:
    schedule = overlap_picture.read_schedule(gathers)
    waited = [(start, end) for _, start, end in schedule.exchanges if end - start == 1]
    assert waited == [(0, 1), (1, 2), (2, 3)]
    assert not {place for place, _ in schedule.kernels} & {start for start, _ in waited}


@pytest.mark.usefixtures("all_targets")
def test_an_asynchronous_collective_spans_the_kernels_in_between(gathers: Capture) -> None:
    schedule = overlap_picture.read_schedule(gathers)
    (span,) = [(start, end) for _, start, end in schedule.exchanges if end - start > 1]
    between = [place for place, _ in schedule.kernels if span[0] <= place < span[1]]
    assert len(between) == gathered.LAYERS - 1
    assert schedule.hidden == 1
    assert schedule.length == 3 + gathered.LAYERS


@pytest.mark.usefixtures("all_targets")
def test_kernels_are_boxes_and_exchanges_bars_on_one_scale(gathers: Capture) -> None:
    picture = overlap_picture.draw_overlap({"a <row>": gathers}, "What runs")
    boxes = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', picture)]
    bars = [float(width) for width in re.findall(r'<rect class="part" x="[\d.]+" y="[\d.]+" width="([\d.]+)"', picture)]
    assert len(boxes) == gathered.LAYERS
    # Three places less the gap of two pixels at the ends of each.
    assert max(bars) == pytest.approx(3 * (boxes[0] + 2) - 2, abs=0.2)
    assert "a &lt;row&gt;: 1 of 4 exchanges overlapped by kernels" in picture


def test_a_program_without_collectives_is_rejected() -> None:
    alone = capture(jnp.sin, jax.ShapeDtypeStruct((8,), jnp.float32), target="cpu")
    with pytest.raises(ValueError, match="no computation with both collectives and kernels"):
        overlap_picture.read_schedule(alone)
