"""The maintainers' settings for the published site, independent of the machine that builds it."""

from __future__ import annotations

import tomllib
from pathlib import Path

SETTINGS = Path(__file__).with_suffix(".toml")


def may_show_bundles() -> bool:
    """Return whether a page may show the text of bundles, from the setting `tpu_bundles`.

    The file is read at each call, so it is recorded as an input, and a page runs again after the setting changed.
    """
    return bool(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["tpu_bundles"])
