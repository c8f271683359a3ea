"""The pages that were edited last, each with its last run, while everything but its own code is as it was then."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from livepage.keep.inputs import Inputs
    from livepage.run import HeldRun

MOST = 2
"""How many pages are held: each with all that its names stand for."""


@dataclass(frozen=True)
class HeldPage:
    """A page that was edited.

    Attributes:
        run: Its last run.
        inputs: What went into it, besides its code.
        common: A hash of what all pages depend on.
        modules: The project's modules that it imported, by their names; they are the page's own.
        packages: Those that it shares with the other pages.
    """

    run: HeldRun
    inputs: Inputs
    common: str
    modules: dict[str, ModuleType]
    packages: Mapping[str, ModuleType]


_held: dict[str, HeldPage] = {}


def is_wanted() -> bool:
    """Return whether pages are held: those that are edited while they are served, unless every page has to run."""
    return project.holds and os.environ.get("LIVE") != "all"


def hold(name: str, run: HeldRun, inputs: Inputs, common: str, modules: dict[str, ModuleType]) -> None:
    """Hold a page, and let go of the one that was edited longest ago; nothing where it cannot run in part."""
    _held.pop(name, None)
    if run.unfit or inputs.fleeting:
        return
    _held[name] = HeldPage(run, inputs, common, modules, _list_packages())
    for old in list(_held)[:-MOST]:
        del _held[old]


def find(name: str, common: str) -> HeldPage | None:
    """Return a page whose last run counts still."""
    held = _held.get(name)
    if held is None or not is_wanted():
        return None
    if held.common == common and held.inputs.are_current() and held.packages == _list_packages():
        return held
    drop(name)
    return None


def drop(name: str) -> None:
    """Let go of a page: it runs whole the next time."""
    _held.pop(name, None)


def forget() -> None:
    """Let go of every page."""
    _held.clear()


def merge(before: Inputs, now: Inputs) -> Inputs:
    """Return what went into a page of which a part ran now, and the rest before."""
    return replace(
        now,
        files={**before.files, **now.files},
        folders={**before.folders, **now.folders},
        variables={**before.variables, **now.variables},
        asked={**before.asked, **now.asked},
    )


def _list_packages() -> dict[str, ModuleType]:
    """Return the modules of the packages that stay loaded from page to page."""
    return {name: sys.modules[name] for name in project.adapter.packages if name in sys.modules}
