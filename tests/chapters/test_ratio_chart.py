"""A drawing of ratios."""

from __future__ import annotations

import re

from chapters.ratio_chart import LEFT, RIGHT, WIDTH, chart_ratios

ROWS = {"a < b": {"half": (0.5, 0.5, 0.5), "eight": (4.0, 8.0, 8.0), "one": (1.0, 1.0, 1.0)}}
DRAWN = chart_ratios(ROWS, "times & again")


def test_dots_lie_on_a_scale_of_powers_of_two_and_in_order() -> None:
    width = WIDTH - LEFT - RIGHT
    centres = [float(x) for x in re.findall(r'cx="([\d.]+)"', DRAWN)]
    assert centres == [LEFT, LEFT + width / 4, LEFT + width]
    assert re.findall(r'class="soft"[^>]*>(\w+)<', DRAWN) == ["half", "one", "eight"]


def test_the_rule_stands_at_one_and_a_line_goes_from_quartile_to_quartile() -> None:
    width = WIDTH - LEFT - RIGHT
    assert f'class="rule" d="M{LEFT + width / 4:.1f} 0V' in DRAWN
    assert f'd="M{LEFT + width * 3 / 4:.1f} ' in DRAWN
    assert f"H{LEFT + width:.1f}" in DRAWN


def test_the_description_lists_every_ratio_and_texts_are_escaped() -> None:
    label = re.search(r'aria-label="(.*?)"', DRAWN)
    assert label
    assert label[1] == "times &amp; again. a &lt; b: half 0.50, eight 8.0, one 1.0"
    assert "a < b" not in DRAWN
