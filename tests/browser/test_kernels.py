"""The kernels in a browser match the capture, and choosing a kernel chooses its lines of Python."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import Captures, capture_all
from xla_inspect.analysis.estimates import time_program
from xla_inspect.report import STATEMENT, hash_program, model_launches

from .waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Opened, Show

TARGETS = ("cpu", "h100", "tpu-v5e")

pytestmark = pytest.mark.usefixtures("all_targets")


def open_table(opened: Opened) -> None:
    """Open the table with all figures."""
    opened.page.locator(".all-figures summary").click()
    opened.page.locator(".launches").wait_for()


@pytest.mark.long("otherwise one search and one notebook stand for all", but=["h100"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_table_holds_the_launches_with_their_lines(show: Show, block: Captures, target: str) -> None:
    opened = show(block, f"x=report&target={target}&view=kernels")
    open_table(opened)
    lines = "(row) => [...row.querySelectorAll('.place')].map((button) => Number(button.textContent))"
    names = "(row) => row.querySelector('th').firstChild.textContent"
    rows = "[...root.querySelectorAll('.launches tbody tr')]"
    cells = opened.inside(f"return {rows}.map((row) => [({names})(row), ({lines})(row)])")
    expected = [
        [launch.launch.name, [line.number for line in launch.lines]] for launch in model_launches(block[target])
    ]
    assert cells == expected


@pytest.mark.long("otherwise the captures of the H100 stand for all", but=["h100"])
@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_the_bars_are_as_long_as_the_estimated_times(show: Show, block: Captures, target: str) -> None:
    opened = show(block, f"x=report&target={target}&view=kernels")
    opened.page.locator(".bars").wait_for()
    widths = opened.inside(
        "return [...root.querySelectorAll('.bars .length i')].map((bar) => parseFloat(bar.style.width))"
    )
    step = time_program(block[target])
    assert step is not None
    times = [one.total.likely for one in step.launches]
    assert widths == pytest.approx([100 * time / max(times) for time in times], abs=0.5)
    assert "estimated time" in opened.page.locator(".bars figcaption").inner_text()
    assert "an estimated time of" in opened.page.locator(".kernels .sum").inner_text()
    # A launch has its estimate with the range and, named as such, the bound.
    description = opened.page.locator(".bars .launch").first.get_attribute("data-said") or ""
    assert re.search(r"about .+ \(.+ to .+\); at least ", description)


def test_a_time_without_the_operations_of_a_call_has_no_upper_end(show: Show) -> None:
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    programs = capture_all(jnp.linalg.cholesky, square, targets=["h100"], passes=False)
    opened = show(programs, "x=report&target=h100&view=kernels")
    opened.page.locator(".bars").wait_for()
    sentence = opened.page.locator(".kernels .sum").inner_text().replace("\xa0", " ")
    assert re.search(r": \S+ k \+ \? operations, .* an estimated time of \S+ µs \(\S+ µs or more\)", sentence)
    labels = opened.inside("return [...root.querySelectorAll('.bars .launch')].map((bar) => bar.dataset.said)")
    [call] = [text for text in labels if text.startswith("cholesky")]
    assert re.search(r": \? operations, .*; about .+ \(.+ or more\)", call)


@pytest.mark.long("otherwise the captures of the H100 stand for all", but=["h100"])
@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_a_dot_is_usable_by_keyboard_and_has_a_label(show: Show, block: Captures, target: str) -> None:
    opened = show(block, f"x=report&target={target}&view=kernels")
    dots = opened.page.locator(".dot")
    dots.first.wait_for()
    kernels = [launch for launch in model_launches(block[target]) if launch.intensity]
    assert dots.count() == len(kernels)
    dots.first.focus()
    for number, launch in enumerate(kernels):
        status = opened.page.locator(".told").inner_text()
        assert status.startswith(f"{launch.launch.name}: {launch.work.flops:,} operations, {launch.bytes:,} bytes; ")
        assert launch.bound is not None
        assert status.endswith(f"limited by {launch.bound.limit}.")
        if number + 1 < len(kernels):
            opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    line = kernels[-1].lines[0]
    wait_until(opened.page, "location.hash.includes('line=')")
    assert opened.status.startswith(f"{line.file}:{line.number}: ")
    lit = [launch for launch in kernels if (line.file, line.number) in {(at.file, at.number) for at in launch.lines}]
    assert opened.page.locator(".dot.lit").count() == len(lit)
    # The focus stays on the dot that was pressed.
    name = opened.inside("return root.activeElement.getAttribute('aria-label')")
    assert str(name).startswith(f"{kernels[-1].launch.name}: ")


def test_a_line_chosen_in_the_table_is_chosen_in_the_python_and_in_other_views(show: Show, block: Captures) -> None:
    opened = show(block, "x=report&target=h100&view=kernels")
    open_table(opened)
    button = opened.page.locator(".launches .place").first
    button.click()
    line = model_launches(block["h100"])[0].lines[0]
    assert opened.page.locator(".source .line.lit").count() == 1
    assert opened.status.startswith(f"{line.file}:{line.number}: ")
    opened.choose("after")
    assert opened.texts(".line.lit")
    opened.choose("kernels")
    assert opened.page.locator(".launches tr.lit").count() > 0


def test_the_model_is_labeled_and_the_cpu_explains_its_absence(show: Show, block: Captures) -> None:
    opened = show(block, "x=report&target=h100&view=kernels")
    assert STATEMENT in opened.page.locator(".model").inner_text()
    opened.choose("cpu")
    opened.page.locator(".roofline").wait_for(state="detached")
    assert "no roofline" in opened.page.locator(".model").inner_text()
    open_table(opened)
    headings = opened.page.locator(".launches thead th").all_inner_texts()
    assert not {"At least", "Measured"} & set(headings)


def test_what_was_measured_stands_beside_the_model(show: Show, block: Captures, tmp_path: Path) -> None:
    """The record is made up: it holds the first kernel, and one of another name."""
    capture = block["h100"]
    first = next(launch for launch in model_launches(capture) if launch.intensity).launch.name
    program = {
        "stablehlo": hash_program(capture.stablehlo),
        "kernels": [{"name": first, "us": 12.5}, {"name": "<b>other</b>", "us": 3}],
        "changed": {"custom-call cublas": 1, "fusion kLoop": -2},
    }
    record = {"date": "2026-11-20", "device": "made up", "versions": {"jax": "1"}, "programs": {"p": program}}
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"h100": record}), encoding="utf-8")
    opened = show(block, "x=report&target=h100&view=kernels", times=times)
    open_table(opened)
    assert "Measured" in opened.page.locator(".launches thead th").all_inner_texts()
    cells = [text.replace("\u00a0", " ") for text in opened.page.locator('[data-name="Measured"]').all_inner_texts()]
    assert sorted({*cells}) == ["12.5 µs", "–"]  # noqa: RUF001 - as it is shown
    assert cells.count("12.5 µs") == opened.page.locator("circle.measured").count() == 1
    table_text = opened.page.locator(".model").nth(1).inner_text().replace("\u00a0", " ")
    assert table_text.startswith("The times were measured on 2026-11-20 on made up with jax 1")
    assert "+1 custom-call cublas, −2 fusion kLoop." in table_text  # noqa: RUF001 - as it is shown
    assert table_text.endswith("Measured launches with names that are not in this list: <b>other</b> (3 µs).")
    opened.choose("tpu-v5e")
    opened.page.locator("circle.measured").wait_for(state="detached")
    assert "Measured" not in opened.page.locator(".launches thead th").all_inner_texts()
