"""A figure describes its drawing for screen readers, and escapes plain text."""

from __future__ import annotations

from xla_inspect.report.svg_figure import figure, svg


def test_a_drawing_has_a_label() -> None:
    assert svg("<g/>", '5 "boxes" & <more>', (352, 10)) == (
        '<svg viewBox="0 0 352 10" role="img" aria-label="5 &quot;boxes&quot; &amp; &lt;more&gt;"><g/></svg>'
    )


def test_a_drawing_has_the_given_class_view_box_and_style() -> None:
    assert svg("", "A", (-1, -1, 2, 3), kind="gpu", style="max-width:4px") == (
        '<svg class="gpu" viewBox="-1 -1 2 3" style="max-width:4px" role="img" aria-label="A"></svg>'
    )


def test_a_figure_has_its_caption_below_the_drawing() -> None:
    assert figure("bars", "<p/>", "<b>Bars</b>.") == (
        '<figure class="bars"><p/><figcaption><b>Bars</b>.</figcaption></figure>\n'
    )


def test_a_figure_without_a_caption_can_have_a_label() -> None:
    assert figure("anatomy", "<p/>", label="A <shape>") == (
        '<figure class="anatomy" aria-label="A &lt;shape&gt;"><p/></figure>\n'
    )
