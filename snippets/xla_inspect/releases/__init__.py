"""What programs came to under one release of JAX, and what changed from one release to a later one."""

from xla_inspect.releases.release_diff import Change, Drift, PassDrift, SetChange
from xla_inspect.releases.release_record import (
    Disagreement,
    Form,
    Release,
    ReleaseCompile,
    ReleaseOutcome,
    read_releases,
    write_release,
)

__all__ = [
    "Change",
    "Disagreement",
    "Drift",
    "Form",
    "PassDrift",
    "Release",
    "ReleaseCompile",
    "ReleaseOutcome",
    "SetChange",
    "read_releases",
    "write_release",
]
