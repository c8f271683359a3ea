"""Growth: bytes over a growing number of devices, on logarithmic scales."""

from __future__ import annotations

import html
import itertools
import re

from xla_inspect.report import growth

SERIES = {"flat": {8: 1024, 64: 1024, 512: 1024}, "halving": {8: 4096, 64: 512}}


def lines(shown: str) -> list[list[tuple[float, float]]]:
    paths = re.findall(r'<path d="M([^"]*)"', shown)
    return [[(float(x), float(y)) for x, y in (point.split() for point in path.split("L"))] for path in paths]


def test_equal_ratios_are_equal_distances_on_both_scales() -> None:
    halving, flat = sorted(lines(growth.chart(SERIES, "Bytes", "chips")), key=len)
    (left, _), (middle, _), (right, _) = flat
    assert abs((middle - left) - (right - middle)) < 0.2
    assert len({y for _, y in flat}) == 1
    assert halving[0][1] < flat[0][1] < halving[1][1]
    assert abs((flat[0][1] - halving[0][1]) - 2 * (halving[1][1] - flat[1][1])) < 0.2


def test_names_of_lines_do_not_cover_each_other() -> None:
    same = {name: {1: 100, 2: 100} for name in ("one", "two", "three")}
    heights = [float(y) for y in re.findall(r'<text x="264" y="([\d.]+)">', growth.chart(same, "Bytes", "chips"))]
    assert [b - a for a, b in itertools.pairwise(heights)] == [growth.LINE] * 2


def test_every_number_is_said() -> None:
    shown = html.unescape(growth.chart(SERIES, "Bytes of each", "chips"))
    assert "flat: 1 KiB on 8, 1 KiB on 64, 1 KiB on 512; halving: 4 KiB on 8, 512 B on 64" in shown
    assert "<title>halving, 8: 4,096 bytes, 64: 512 bytes</title>" in shown


def test_html_in_names_is_shown_as_text() -> None:
    shown = growth.chart({"<b>": {1: 1}}, "<i>", "<u>")
    assert [tag for tag in ("<b>", "<i>", "<u>") if tag in shown] == []
