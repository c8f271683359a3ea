"""The maintainers' settings for the published site and package, independent of the machine that builds them."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).with_suffix(".toml")


def may_show_bundles() -> bool:
    """Return whether a page may show the text of bundles, from the setting `tpu_bundles`."""
    return bool(_read_settings()["tpu_bundles"])


def format_install_command(*extras: str) -> str:
    """Return the command with which readers install the package: from the registry, the repository, or a clone."""
    suffix, address = f"[{','.join(extras)}]" if extras else "", _find_repository()
    if _read_settings()["published"]:
        source = f"xla-inspect{suffix}"
    elif address:
        source = f"xla-inspect{suffix} @ git+{address}"
    else:
        source = f"./inside-xla{suffix}"
    return f"pip install {shlex.quote(source)}"


def clone_command() -> str:
    """Return the command with which readers clone the repository, with `ADDRESS` as a placeholder if it is unknown."""
    return f"git clone {shlex.quote(_find_repository() or 'ADDRESS')} inside-xla"


def explain_address() -> str:
    """Return the sentence that explains the placeholder of `clone_command`, or an empty string without one."""
    sentence = "Replace `ADDRESS` with the address of the repository from which this site was built."
    return "" if _find_repository() else sentence


def explain_source() -> str:
    """Return a sentence that explains `./inside-xla`, or an empty string if the install command needs no clone."""
    clone = "`inside-xla` is your clone of the project's repository, because the package is in no registry yet."
    return clone if "./inside-xla" in format_install_command() else ""


def _find_repository() -> str:
    """Return the address of the repository, from the variable REPO_URL or the settings; it may be empty."""
    return os.environ.get("REPO_URL") or str(_read_settings()["repository"])


def _read_settings() -> dict[str, Any]:
    """Return the settings; a page that calls this runs again after a change of the settings' file."""
    return tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
