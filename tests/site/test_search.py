"""The search index holds the prose and the code of the pages, and none of the compiler's text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    Findable prose with a value `= "computed"`.

    ```python
    findable_code = 1
    ```

    ```python exec="on" result="hlo"
    print("%hidden.1 = f32[8]{0} add(%a, %b)")
    ```

    ```python exec="on"
    print("Printed prose.\\n\\n```jaxpr title=\\"caption\\"\\nhidden_too\\n```\\n\\nMore prose.")
    ```
    """


def test_listings_are_on_the_page_and_not_in_the_index(site: Site) -> None:
    """Indexing them would take most of a rebuild, and nobody searches for an instruction's number."""
    site.write({"docs/a.md": PAGE})
    assert site.build() == []
    index = json.loads((site.root / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    text = " ".join(entry["text"] for entry in index["docs"])
    for word in ("Findable prose", "computed", "findable_code", "Printed prose", "More prose"):
        assert word in text
    for word in ("hidden", "caption"):
        assert word not in text
        assert word in site.html("a")
