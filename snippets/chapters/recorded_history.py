"""Recorded results of `xla-inspect since`, which needs releases of JAX that the site's build does not install."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import stamps
from xla_inspect.questions.since import ReleaseChange, ReleaseHistory, ReleaseRow

if TYPE_CHECKING:
    from pathlib import Path


def read_history(path: Path) -> ReleaseHistory:
    """Read the recorded result of `xla-inspect since` from a file.

    Args:
        path: A sealed file with the command's `--json` output.

    Raises:
        stamps.SealError: The file was changed after it was sealed.
    """
    content = stamps.read_sealed(path)
    values = {field.name: content[field.name] for field in fields(ReleaseHistory) if field.name in content}
    # JSON has no tuples, so lists have to be converted back.
    values |= {name: tuple(values[name]) for name in ("questions", "not_measured", "repeated") if name in values}
    values["rows"] = tuple(ReleaseRow(**{**row, "notes": tuple(row["notes"])}) for row in values["rows"])
    lists = ("between", "what", "slower")
    values["changes"] = tuple(
        ReleaseChange(**{**change, **{name: tuple(change[name]) for name in lists}}) for change in values["changes"]
    )
    return ReleaseHistory(**values)
