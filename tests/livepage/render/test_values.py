"""Values in prose: evaluated where they stand, wherever Markdown lets inline code stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    Before: `= undefined if False else "none"`.

    ```python exec="on"
    x = 12345
    names = {"a|b": 1}
    ```

    After: `= x`, text `= "<b>_x_</b> & *y*"`, ticks `` = f`x` `` untouched.

    | left | right |
    |---|--:|
    | `= x | 1` | `= names["a|b"]` |

    ## Title of `= x` {#title}

    !!! note "Noted `= x`"

        * item `= x + 1`

          ```python exec="on"
          x = 7
          ```

        Foot[^1].

    === "Tab"

        In it `= x`.

    > Quoted `= -x`

    Over two lines `= x +
    1` here.

    [^1]: In the foot `= x * 1000`.

    ```python exec="on"
    x = "late"
    ```

    `a = b`, `==`, `=`, `x == y` and `=x` stay code. No value: \\`= x`.

    ```text
    `= x` in a listing
    ```

    <!-- `= nowhere` -->
    """

SHOWN = [
    "none", "12,345", "&lt;b&gt;_x_&lt;/b&gt; &amp; *y*", "12,345", "1", "12,345", "12,345", "12,346",
    "7", "-7", "8", "7,000",
]  # fmt: skip


def test_a_value_shows_the_state_of_the_page_where_it_stands(site: Site) -> None:
    """Values are shown in paragraphs, tables, headings, titles, lists, tabs, quotes and footnotes."""
    site.write({"docs/values.md": PAGE.replace("`` = f`x` `` untouched", "ticks")})
    assert site.build() == []
    assert re.findall(r'<span class="value">(.*?)</span>', site.html("values")) == SHOWN
    assert 'id="title"' in site.html("values")
    for code in ("a = b", "==", "=", "x == y", "=x"):
        assert f"<code>{code}</code>" in site.html("values")
    assert "`= x` in a listing" in site.html("values")


def test_a_value_may_hold_backticks(site: Site) -> None:
    """Such a value is written like inline code, between more backticks than it contains."""
    site.write({"docs/ticks.md": "# A\n\nIt is `` = '`' * 3 ``.\n"})
    assert site.build() == []
    assert '<span class="value">```</span>' in site.html("ticks")


def test_what_a_block_prints_is_not_evaluated(site: Site) -> None:
    """Printed text, such as the compiler's, is data."""
    site.write({"docs/printed.md": '# A\n\n```python exec="on"\nx = 1\nprint("`= x`")\n```\n'})
    assert site.build() == []
    assert "<code>= x</code>" in site.html("printed")


def test_numbers_and_text_are_shown_for_reading(site: Site) -> None:
    """An int has separators; a bool, a float and a tuple are as Python writes them; text has no quotes."""
    site.write({"docs/shown.md": "# A\n\n`= 1234567` `= True` `= 0.5` `= 'plain'` `= (1, 2)`\n"})
    assert site.build() == []
    assert re.findall(r'"value">(.*?)<', site.html("shown")) == ["1,234,567", "True", "0.5", "plain", "(1, 2)"]


def test_a_rounded_value_shows_its_exact_value_on_hover_and_focus(site: Site) -> None:
    value_class = 'class Size(str):\n    exact = "65,536 bytes & more"'
    site.write(
        {"docs/a.md": f'# A\n\n```python exec="on"\n{value_class}\n```\n\nIt takes `= Size("64 KiB")`, `= 1`.\n'}
    )
    assert site.build() == []
    html = '<span class="value" data-exact="65,536 bytes &amp; more" tabindex="0">64 KiB</span>, <span class="value">1<'
    assert html in site.html("a")
