"""Bars of instruction kinds: widths, labels and descriptions."""

from __future__ import annotations

import re

from chapters import mix_chart
from xla_inspect.analysis.machine import Mix

MIX = Mix({"integers": 60, "floating point": 30, "branches": 8}, {"NEW": 2}, padding=7)


def test_the_parts_of_a_bar_are_as_wide_as_their_shares() -> None:
    chart = mix_chart.chart_mixes({"<dot>": MIX}, "h100", "What the instructions do")
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', chart)]
    assert [round(width / mix_chart.WIDTH, 2) for width in widths] == [0.6, 0.3, 0.08, 0.02]
    assert round(sum(widths), 1) == mix_chart.WIDTH


def test_kinds_are_named_under_their_bar_and_what_is_small_or_unknown_on_its_part() -> None:
    chart = mix_chart.chart_mixes({"<dot>": MIX}, "h100", "What the instructions do")
    assert "integers 60%, floating point 30%, branches 8%" in chart
    assert "<title>&lt;dot&gt;, of unknown kind: 2 of 100 instructions</title>" in chart
    assert "<dot>" not in chart
    assert '<g class="gpu">' in chart


def test_words_are_folded_into_lines_that_fit_a_phone() -> None:
    mix = Mix({f"a kind of work {number}": 10 for number in range(10)}, {}, 0)
    chart = mix_chart.chart_mixes({"k": mix}, "cpu", "Kinds")
    lines = re.findall(r'<text class="soft" x="0"[^>]*>([^<]*)', chart)
    assert len(lines) > 1
    assert max(map(len, lines)) <= mix_chart.CHARACTERS
