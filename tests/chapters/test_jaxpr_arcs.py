"""The drawing of a program as rows and arcs."""

from __future__ import annotations

import re

from chapters import jaxpr_arcs
from xla_inspect.analysis import JaxprStep

STEPS = (
    JaxprStep("input", "f32[2]", 8, group="forward"),
    JaxprStep("sin", "f32[2]", 8, (0,), "forward"),
    JaxprStep("cos", "f32[2]", 8, (0,), "forward"),
    JaxprStep("exp", "f32[2]", 8, (0,), "forward", live=False),
    JaxprStep("mul", "f32[2]", 8, (2, 2), "backward"),
)


def test_each_use_is_an_arc_once_and_each_step_a_row() -> None:
    picture = jaxpr_arcs.draw_arcs(STEPS, "A <program>")
    assert re.findall(r'<path class="(\w+)"', picture) == ["arc", "arc", "dead", "kept"]
    assert re.findall(r'<text class="(?:input|step|dead)" [^>]*>(\w+)<', picture) == [
        "input",
        "sin",
        "cos",
        "exp",
        "mul",
    ]
    assert "<figcaption>A &lt;program&gt;</figcaption>" in picture


def test_the_rows_of_a_later_group_lie_on_a_band_of_their_height() -> None:
    picture = jaxpr_arcs.draw_arcs(STEPS, "")
    assert re.findall(r'<rect class="band"[^>]* height="(\d+)"', picture) == [str(jaxpr_arcs.ROW)]


def test_the_drawing_has_a_description() -> None:
    assert jaxpr_arcs.describe_arcs(STEPS) == (
        "1 input and 4 equations, 1 of which has no effect on the results; "
        "1 value of 8 bytes in total stored for a later group"
    )


def test_everything_stays_inside_the_drawing() -> None:
    picture = jaxpr_arcs.draw_arcs(
        [JaxprStep("input", "", 0), *(JaxprStep("add", "", 4, (index,)) for index in range(40))], ""
    )
    controls = [float(x) for x in re.findall(r"C([\d.]+),", picture)]
    furthest = [jaxpr_arcs.START + 0.75 * (control - jaxpr_arcs.START) for control in controls]
    assert len(furthest) == 40
    assert max(furthest) <= jaxpr_arcs.WIDTH
