"""The reading time of a page, from its visible text."""

from __future__ import annotations

from livepage.publish.reading_time import add_time, estimate

ANSWER = '<h1 id="t">Title</h1>\n<p class="answer">One.</p>'


def test_words_and_lines_of_code_take_their_time() -> None:
    assert estimate(f"<p>{'word ' * 900}</p>") == 5
    assert estimate(f"<pre><code>{'x = 1\n' * 90}</code></pre>") == 3


def test_folded_and_drawn_content_takes_no_time() -> None:
    inner = f"<details><summary>s</summary><p>{'word ' * 900}</p></details>"
    assert estimate(f"<p>short</p><details><summary>s</summary>{inner}<p>{'word ' * 900}</p></details>") == 1
    assert estimate(f"<p>short</p><section popover><p>{'word ' * 900}</p></section>") == 1
    assert estimate(f"<p>short</p><svg>{'<text>word</text>' * 900}</svg>") == 1


def test_the_versions_of_packages_take_no_time() -> None:
    assert estimate(f"<p>short</p><p class='made'>{'word ' * 900}</p>") == 1


def test_only_a_chapter_shows_its_reading_time() -> None:
    assert '</h1>\n<p class="reading-time">About 1 minute to read</p>' in add_time(ANSWER)
    assert "About 2 minutes" in add_time(ANSWER + "<p>" + "word " * 400 + "</p>")
    assert add_time("<h1>Home</h1><p>words</p>") == "<h1>Home</h1><p>words</p>"


def test_only_the_first_tab_counts() -> None:
    pane = f'<div class="tabbed-block"><p>{"word " * 400}</p></div>'
    assert estimate(f'<div class="tabbed-content">{pane * 3}</div><div class="tabbed-content">{pane}</div>') == 4
