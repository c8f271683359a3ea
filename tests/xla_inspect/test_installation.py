"""Suggested install and run commands work: with pip for the wheel, with uv in the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xla_inspect.installation import CHECKOUT, find_checkout, install_line, run_line

ROOT = Path(__file__).resolve().parents[2]
QUOTE = '"' if os.name == "nt" else "'"


def test_this_package_is_in_the_projects_checkout() -> None:
    assert CHECKOUT == ROOT


@pytest.mark.parametrize("place", ["lib/site-packages/xla_inspect", "snippets/other/xla_inspect", "snippets/other"])
def test_a_package_elsewhere_in_a_project_is_not_a_checkout(place: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert find_checkout(tmp_path / place) is None


@pytest.mark.parametrize(
    ("extras", "line"),
    [
        ((), "pip install xla-inspect"),
        (("cuda",), f"pip install {QUOTE}xla-inspect[cuda]{QUOTE}"),
        (("asm", "cuda"), f"pip install {QUOTE}xla-inspect[asm,cuda]{QUOTE}"),
    ],
)
def test_a_missing_package_is_installed_by_pip_extra_or_by_uv_in_the_checkout(
    extras: tuple[str, ...], line: str
) -> None:
    assert (install_line(*extras, checkout=None), install_line(*extras, checkout=ROOT)) == (line, "uv sync")


def test_a_command_is_suggested_with_uv_run_in_the_checkout() -> None:
    assert run_line("xla-inspect targets", checkout=None) == "xla-inspect targets"
    assert run_line("xla-inspect targets", checkout=ROOT) == "uv run xla-inspect targets"
