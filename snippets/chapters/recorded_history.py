"""What `xla-inspect since` found when it was run, which takes releases that a build does not install."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import stamps
from xla_inspect.questions.since import ReleaseChange, ReleaseHistory, ReleaseRow

if TYPE_CHECKING:
    from pathlib import Path


def read_history(path: Path) -> ReleaseHistory:
    """Return a recorded answer.

    Args:
        path: A sealed file of what the command prints with `--json`.

    Raises:
        stamps.SealError: It was changed since it was sealed.
    """
    content = stamps.read_sealed(path)
    told = {each.name: content[each.name] for each in fields(ReleaseHistory)}
    told |= {name: tuple(told[name]) for name in ("questions", "not_measured")}
    told["rows"] = tuple(ReleaseRow(**{**row, "notes": tuple(row["notes"])}) for row in told["rows"])
    lists = ("between", "what", "slower")
    told["changes"] = tuple(
        ReleaseChange(**{**change, **{name: tuple(change[name]) for name in lists}}) for change in told["changes"]
    )
    return ReleaseHistory(**told)
