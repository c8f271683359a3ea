"""The content of a page is found again in what the theme makes of it."""

from __future__ import annotations

from livepage.edits.theme_frame import cut, mark


def test_the_content_is_what_stands_between_its_marks() -> None:
    assert cut(f"<body><h1>A</h1>{mark('<p>B</p>')}<p>C</p></body>") == "<p>B</p>"
    assert cut("<body></body>") == ""
