"""The views of real captures on a page."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from chapters import line_history, stage_picture
from xla_inspect.captured import Captures
from xla_inspect.report import markdown, timeline, views


def test_a_missing_target_keeps_its_tab_with_a_reason(captures: Captures) -> None:
    partial = Captures({"cpu": captures["cpu"]}, {"tpu-v5e": "libtpu is <not> installed"}, ("cpu", "tpu-v5e"))
    output = views.tabs_by_target(partial, views.show_optimized)
    assert '=== "TPU v5e"\n\n    <p class="gap">Not compiled here: libtpu is &#60;not&#62; installed</p>' in output
    assert "ENTRY" in output


def test_a_missing_target_keeps_its_lane_in_the_drawing(captures: Captures) -> None:
    partial = Captures({"cpu": captures["cpu"]}, {"tpu-v5e": "no"}, ("cpu", "tpu-v5e"))
    assert '<dt>TPU v5e</dt><dd class="gap">not compiled here</dd>' in stage_picture.draw_stages(partial)


def test_the_chart_shows_the_captures_counts(captures: Captures) -> None:
    output = stage_picture.draw_stages(captures)
    for capture in captures.values():
        assert f"<b>{len(capture.runs):,}</b> runs" in output
        assert f"<b>{capture.module.instruction_count():,}</b> instructions" in output
        temporaries = capture.memory.temporaries
        assert f"in and out, {markdown.size(temporaries) if temporaries else 'none'} between" in output


def test_the_short_listing_hides_metadata_and_the_folded_one_keeps_it(captures: Captures) -> None:
    short, whole = views.show_optimized(captures["cpu"]).split("??? listing")
    assert "metadata=" not in short
    assert "ENTRY" in short
    assert "metadata=" in whole


def test_every_pass_that_changed_the_text_has_a_row(captures: Captures) -> None:
    for capture in captures.values():
        rows = [line for line in views.show_passes(capture).splitlines() if line.lstrip().startswith("| <code>")]
        names = [step for step in capture.passes if step.name != "pipeline-start"]
        assert len(rows) <= len(names)
        assert any("call-inliner" in row and "inlined 1 call" in row for row in rows)


def test_a_gpu_kernel_shows_its_grid(captures: Captures) -> None:
    thunk = captures["h100"].thunks[0]
    assert thunk.grid is not None
    assert " x ".join(map(str, thunk.grid)) in views.show_kernels(captures["h100"])


def test_each_expression_of_a_line_is_followed_to_the_fusion_that_holds_it(captures: Captures) -> None:
    rows = [
        row.partition("</tr>")[0]
        for row in line_history.show_operations(captures["cpu"], 9).split('<tr role="row">')[2:]
    ]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    output = [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in cells]
    assert output[0] == ["x @ w", "dot_general", "dot_general", "dot", "dot in ynn_fusion"]
    assert output[-1][0] == "jax.nn.relu(x @ w + b)"
    assert output[-1][-1] == "broadcast, maximum in broadcast_maximum_fusion"


def test_the_timeline_draws_each_value_once_and_marks_the_peak(captures: Captures) -> None:
    for capture in captures.values():
        output = timeline.draw_timeline(capture)
        assert output.count("<rect") == output.count("<title>")
        assert output.count('class="peak"') == 1


def test_html_in_names_is_shown_as_text(captures: Captures) -> None:
    capture = replace(captures["cpu"], program="<i>f</i>", source_file="<u>.py")
    output = "".join(
        (
            stage_picture.draw_stages(Captures({"cpu": capture}, {}, ("cpu",))),
            views.show_kernels(capture),
        )
    )
    assert [tag for tag in ("<i>", "<u>") if tag in output] == []
