"""Escaping of names and captions in all drawings and tables."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest

from chapters import bar_chart, jaxpr_arcs, layout_picture, mix_chart, ratio_chart, rewrite_matrix
from chapters.decision_tree import draw_decisions
from chapters.exchange_picture import draw_exchange
from chapters.run_strips import StripBox, draw_strips
from xla_inspect.analysis import Fate, JaxprStep
from xla_inspect.analysis.machine import Mix
from xla_inspect.hlo import parse_shape
from xla_inspect.report import chart_growth

if TYPE_CHECKING:
    from collections.abc import Callable

BAD = "<mark>&"
DRAWINGS: dict[str, Callable[[], str]] = {
    "arcs": lambda: jaxpr_arcs.draw_arcs([JaxprStep("input", "f32[2]", 8)], BAD),
    "bars": lambda: bar_chart.chart_bars({BAD: {"cpu": 1}}, BAD, BAD),
    "decisions": lambda: draw_decisions((BAD, {BAD: BAD}), BAD),
    "exchange": lambda: draw_exchange({BAD: [BAD]}, (BAD, BAD), {BAD: [BAD]}, BAD),
    "layouts": lambda: layout_picture.draw_orders({BAD: parse_shape("f32[2,2]{1,0}")}, BAD),
    "lines": lambda: chart_growth({BAD: {1: 1}}, BAD, BAD),
    "mixes": lambda: mix_chart.chart_mixes({BAD: Mix({BAD: 60}, {}, padding=0)}, "h100", BAD),
    "ratios": lambda: ratio_chart.chart_ratios({BAD: {BAD: (1.0, 1.0, 1.0)}}, BAD),
    "rewrites": lambda: rewrite_matrix.rewrite_matrix({BAD: {BAD: {"cpu": Fate("", "", None, 1)}}}, BAD),
    "strips": lambda: draw_strips({BAD: [StripBox(BAD, "kind")]}, {"kind": BAD}, BAD),
}


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_names_and_captions_are_shown_as_text(drawing: str) -> None:
    picture = DRAWINGS[drawing]()
    assert "<mark>" not in picture
    assert BAD in html.unescape(picture)
