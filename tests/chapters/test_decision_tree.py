"""The drawing of a decision tree."""

from __future__ import annotations

import re

from chapters.decision_tree import draw_decisions

DRAWN = draw_decisions(("a <b>?", {"yes": "one", "no": ("c?", {"x": "two", "y": "three"})}), "how & why")


def test_answers_are_nested_under_their_question_in_order() -> None:
    marks = re.findall(r"<(/?ul|span|i|b)>([^<]*)", DRAWN)
    assert marks == [
        ("span", "a &#60;b&#62;?"),
        ("ul", ""),
        ("i", "yes"),
        ("b", "one"),
        ("i", "no"),
        ("span", "c?"),
        ("ul", ""),
        ("i", "x"),
        ("b", "two"),
        ("i", "y"),
        ("b", "three"),
        ("/ul", ""),
        ("/ul", ""),
    ]
