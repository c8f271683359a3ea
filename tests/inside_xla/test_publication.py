"""What is published is what a maintainer decided, on each machine that builds the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inside_xla import publication

if TYPE_CHECKING:
    import pytest


def test_bundles_are_not_published_unless_a_maintainer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert publication.may_show_bundles() is False
    monkeypatch.setattr(publication, "TPU_BUNDLES", True)
    assert publication.may_show_bundles() is True
