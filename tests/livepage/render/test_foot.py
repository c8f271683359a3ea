"""The foot of a page: the versions of the compilers that made its captures."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    ```python exec="on"
    class Capture:
        target, options, versions = "cpu", {}, {"jax": "1"}
    found = {"one": [Capture()]}
    ```

    It is so.
    """


def test_the_foot_of_a_page_lists_the_makers_of_its_captures(site: Site) -> None:
    site.write({"docs/a.md": PAGE, "docs/b.md": "# B\n\n`= 1`\n"})
    assert site.build() == []
    assert site.html("a").count('<p class="made">Made when this page was built: CPU with jax 1.</p>') == 1
    assert 'class="made"' not in site.html("b")


def test_the_foot_of_a_stored_page_lists_the_makers_too(site: Site) -> None:
    site.write({"docs/a.md": PAGE})
    site.build()
    site.write({"docs/a.md": textwrap.dedent(PAGE).replace("It is so.", "It is not.")})
    assert site.build() == []
    assert "CPU with jax 1." in site.html("a")
