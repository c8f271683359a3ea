"""A roofline draws each launch at the place of its numbers, below the roofs of its target."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from programs import product, transformer_block_grad
from xla_inspect import capture
from xla_inspect.analysis import STATEMENT, model_launches
from xla_inspect.report import roofline
from xla_inspect.report.roofline import Scale
from xla_inspect.targets import Hardware, find_hardware
from xla_inspect.units import format_amount, format_duration

if TYPE_CHECKING:
    from xla_inspect import Captures

pytestmark = pytest.mark.usefixtures("all_targets")


def read_dots(output: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', output)]


def read_roofs(output: str) -> list[tuple[float, ...]]:
    paths = re.findall(r'<path class="roof" d="M([\d.]+) ([\d.]+)(?:L([\d.]+) ([\d.]+)|H([\d.]+))"', output)
    return [tuple(float(number) for number in path if number) for path in paths]


def test_a_memory_bound_launch_is_on_the_slope(captures: Captures) -> None:
    for target in ("h100", "tpu-v5e"):
        output = roofline.draw_roofline(captures[target])
        dots = read_dots(output)
        assert len(dots) == sum(item.intensity is not None for item in model_launches(captures[target]))
        (x, y, far, high), *_ = read_roofs(output)
        for across, up in dots:
            assert up == pytest.approx(y + (high - y) * (across - x) / (far - x), abs=0.2)


def test_a_compute_bound_launch_is_on_the_roof_right_of_the_bend() -> None:
    square = jax.ShapeDtypeStruct((2048, 2048), jnp.float32)
    output = roofline.draw_roofline(capture(product.product, square, square, target="h100"))
    ((x, y),) = read_dots(output)
    _, (bend, top, _) = read_roofs(output)
    assert (x > bend, y) == (True, top)
    hardware = find_hardware("h100")
    assert hardware is not None
    assert f"TF32 tensor cores, {format_amount(hardware.matrix['f32'])}/s" in output


def test_the_list_describes_each_dot_and_the_caption_states_the_model(captures: Captures) -> None:
    output = html.unescape(roofline.draw_roofline(captures["h100"]))
    kernels = model_launches(captures["h100"])
    for item in kernels:
        assert item.bound is not None
        least = f"at least {format_duration(item.bound.seconds)}, limited by {item.bound.limit}"
        assert re.search(
            rf"<li>{item.launch.name}: {format_amount(item.work.flops)} operations, [^;]*; {least}</li>", output
        )
    assert STATEMENT in output
    assert output.count("<li>") == len(kernels)


def test_many_launches_are_folded_and_those_without_a_dot_counted() -> None:
    result = capture(transformer_block_grad.transformer_block_grad, *transformer_block_grad.EXAMPLE, target="tpu-v5e")
    kernels = model_launches(result)
    drawing = [item for item in kernels if item.intensity]
    output = roofline.draw_roofline(result)
    assert output.count("<li>") == len(drawing)
    assert re.search(f"<p>{len(kernels) - len(drawing)} launch(es)? ha(s|ve) no dot, because ", output)
    many = capture(transformer_block_grad.transformer_block_grad, *transformer_block_grad.EXAMPLE, target="h100")
    assert "<details>" in roofline.draw_roofline(many)


def test_the_cpu_explains_its_missing_roofline(captures: Captures) -> None:
    output = roofline.draw_roofline(captures["cpu"])
    assert "<svg" not in output
    assert "no roofline" in output


def test_names_of_roofs_do_not_overlap(captures: Captures, monkeypatch: pytest.MonkeyPatch) -> None:
    near = Hardware("h100", 1e12, {"f32": 1e14}, {"f32": 9e13}, "https://example.org", 1, 10**9)
    for module in ("report.roofline", "analysis.launch_costs"):
        monkeypatch.setattr(f"xla_inspect.{module}.find_hardware", lambda _: near)
    output = roofline.draw_roofline(captures["h100"])
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="end">[^<]*cores', output))
    assert len(heights) == 2
    assert heights[1] - heights[0] >= roofline.LINE


def test_a_scale_has_whole_decades() -> None:
    scale = Scale.over([0.3, 40], 10, 110)
    assert (scale.low, scale.high) == (-1, 2)
    assert (scale.place(0.1), scale.place(100)) == (pytest.approx(10), pytest.approx(110))
    assert scale.place(math.sqrt(10)) == pytest.approx(60)
    assert list(scale.ticks()) == [2, 1, 0, -1]
    assert len(Scale.over([1e-3, 1e15], 0, 1).ticks()) <= roofline.TICKS + 1
    assert Scale.over([1, 1], 0, 1).high == 1


def test_html_in_names_is_shown_as_text(captures: Captures) -> None:
    output = roofline.draw_roofline(replace(captures["h100"], program="<img src=x>"))
    assert "<img" not in output
    assert "<img src=x>" in html.unescape(output)
