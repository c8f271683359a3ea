"""The page loads all scripts from its own server, which serves no other file."""

from __future__ import annotations

import re

import pytest

from xla_inspect.play.play_page import BUNDLE, OWN, read_static, write_page
from xla_inspect.report.explorer import COMPILERS, LATER, SCRIPTS


def test_the_page_loads_its_scripts_in_order_and_each_exists() -> None:
    scripts = re.findall(r'<script src="static/([^"]+)" defer></script>', write_page("token"))
    assert [name for name in scripts if name != BUNDLE] == [*SCRIPTS, *LATER, *COMPILERS, *OWN]
    assert [name for name in scripts if read_static(name) is None] == []


def test_the_token_is_escaped_in_the_page() -> None:
    assert '<meta name="play-token" content="&quot;&gt;x">' in write_page('">x')


@pytest.mark.parametrize("name", ["../__init__.py", "play.html", "a/../play.js", "..\\play.js", ".js", "none.js", ""])
def test_no_other_file_is_served(name: str) -> None:
    assert read_static(name) is None


def test_the_page_writes_no_style_or_script_into_itself_that_its_policy_refuses() -> None:
    page = write_page("token")
    assert re.findall(r"<script(?! src=)", page) == []
    assert re.findall(r"\son\w+=", page) == []
