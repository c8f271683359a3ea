"""What the published site may show: settings that a maintainer decides, and not the machine that builds it."""

from __future__ import annotations

import tomllib
from pathlib import Path

SETTINGS = Path(__file__).with_suffix(".toml")


def may_show_bundles() -> bool:
    """Return whether a page may show the text of bundles: `tpu_bundles` of the settings.

    The file is read each time, so that a page that asks runs again when the setting is another.
    """
    return bool(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["tpu_bundles"])
