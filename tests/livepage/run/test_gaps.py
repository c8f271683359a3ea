"""Missing targets leave marked gaps, unless all targets are required."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livepage.read import project

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    ```python exec="on"
    from xla_inspect.errors import TargetUnavailableError

    def need(target):
        raise TargetUnavailableError(target, "install <it>")

    print("shown before")
    tpu = need("tpu-v5e")
    never = 1
    ```

    Value `= never` and `= need("h100")` and `= 1 + 1`.

    ```python check="It needs a GPU"
    need("h100")
    ```

    ```python check="It needs what was cut off"
    assert never == 1
    ```

    ```python exec="on"
    print(never)
    ```
    """


@pytest.fixture(autouse=True)
def _anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUIRE_TARGETS", raising=False)


def test_a_missing_target_leaves_marked_gaps(site: Site) -> None:
    """The build succeeds, the page says what is missing, and so does the log."""
    site.write({"docs/gaps.md": PAGE})
    assert site.build() == []
    html = site.html("gaps")
    assert "<p>shown before</p>" in html
    assert html.count('<p class="gap">Not run here: install &lt;it&gt;</p>') == 2
    assert '<span class="gap" title="install &lt;it&gt;">(needs tpu-v5e)</span>' in html
    assert '<span class="gap" title="install &lt;it&gt;">(needs h100)</span>' in html
    assert '<span class="value">2</span>' in html
    assert "It needs a GPU (not run here: install &lt;it&gt;)" in html
    assert html.count('<details class="check gap">') == 2
    missing = [line for line in site.log if line.startswith("target ")]
    assert missing == [
        "target h100 is missing, marked on the pages: install <it>",
        "target tpu-v5e is missing, marked on the pages: install <it>",
    ]


def test_a_missing_target_is_an_error_where_all_are_required(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """REQUIRE_TARGETS=all, as in continuous integration, turns a gap into an error."""
    monkeypatch.setenv("REQUIRE_TARGETS", "all")
    site.write({"docs/gaps.md": PAGE})
    first, *_ = site.build()
    assert first.startswith("docs/gaps.md:7: xla_inspect.errors.TargetUnavailableError: target 'tpu-v5e'")


def test_an_unknown_name_is_no_gap_where_nothing_is_missing(site: Site) -> None:
    """Only a block that a missing target cut short excuses what it would have defined."""
    page = PAGE.replace('tpu = need("tpu-v5e")', "tpu = 1").replace("never = 1", "pass", 1)
    site.write({"docs/gaps.md": page})
    assert "docs/gaps.md:14: NameError: name 'never' is not defined" in site.build()


def test_a_variable_of_a_cut_block_does_not_keep_its_earlier_value(site: Site) -> None:
    page = PAGE.replace('print("shown before")', 'print("shown before")\n    never = 2', 1)
    again = page.replace(
        "    Value `= never`",
        """    ```python exec="on"
    kept = "old"
    ```

    ```python exec="on"
    kept = "new"
    never = need("tpu-v5e")
    kept = [never for never in "ab"]
    ```

    Value `= kept` and `= never`""",
    )
    site.write({"docs/gaps.md": again})
    assert site.build() == []
    html = site.html("gaps")
    assert '<span class="gap" title="install &lt;it&gt;">(needs tpu-v5e)</span>' in html
    assert '<span class="value">new</span>' in html


def test_a_page_that_looks_up_a_missing_target_in_a_table_of_its_own_has_a_gap(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(project.adapter), "list_missing", lambda _: {"tpu-v5e": "install <it>"})
    page = """
    # A

    ```python exec="on"
    counts = {"cpu": 1, ("cpu", "a"): 2}
    ```

    Value `= counts["tpu-v5e"]` and `= counts["tpu-v5e:2x4", "a"]` and `= counts["cpu"]`.

    ```python check="Nowhere"
    assert counts["gpu"]
    ```
    """
    site.write({"docs/gaps.md": page})
    assert [line.partition("; on this")[0] for line in site.build()] == ["docs/gaps.md:10: KeyError: 'gpu'"]
    html = site.html("gaps")
    assert html.count('<span class="gap" title="install &lt;it&gt;">(needs tpu-v5e') == 2
