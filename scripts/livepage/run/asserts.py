"""Make plain asserts say what they compared, `left was 3, right was 4`, and find those that assert nothing."""

from __future__ import annotations

import dataclasses
import reprlib
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HELPER = "@asserts"

_LONGEST = 200
_SHORT = 40
_FIELDS = 2


class _Repr(reprlib.Repr):
    """Shortens; a data class is told by its short fields, so that a capture is its program and its target."""

    def repr1(self, x: object, level: int) -> str:
        if not dataclasses.is_dataclass(x) or isinstance(x, type):
            return super().repr1(x, level)
        values = ((field.name, getattr(x, field.name, None)) for field in dataclasses.fields(x))
        short = (
            f"{name}={value!r}" for name, value in values if isinstance(value, str | int) and len(str(value)) < _SHORT
        )
        return f"{type(x).__name__}({', '.join(islice(short, _FIELDS))})"


_shorten = _Repr(maxstring=_LONGEST, maxother=_LONGEST, maxlist=12, maxtuple=12, maxdict=12, maxset=12)


@dataclass
class Site:
    """An assert, as written.

    Attributes:
        line: Its line in the source that was read.
        file: The module that it stands in, if that is not the page.
        fault: Why it cannot fail, if so.
        must_run: Whether it runs whenever its code does: it stands in no function, and does not forbid its place.
        ran: How often it ran.
        failed: Whether it failed.
        walks: For each `all(...)` and `not any(...)` in it how many elements that saw, over all runs.
        example: What the names of the walk that decided stood for.
    """

    line: int
    fault: str = ""
    file: str = ""
    must_run: bool = True
    ran: int = 0
    failed: bool = False
    walks: list[int] = field(default_factory=list)
    example: dict[str, Any] = field(default_factory=dict)


class Asserts:
    """What the asserts of a namespace came to. The namespace must hold it under the name `HELPER`."""

    def __init__(self) -> None:
        """Begin with none."""
        self.sites: list[Site] = []
        self.runs = 0

    def meet(self, number: int) -> bool:
        """Count a run of an assert."""
        self.runs += 1
        self.sites[number].ran += 1
        return True

    def walk(self, number: int, walk: int, decisive: bool, names: tuple[str, ...], items: Iterable[Any]) -> bool:  # noqa: FBT001 - called by rewritten code
        """Return whether all items are true, or with `decisive` whether any is, and keep the one that decides."""
        site = self.sites[number]
        for item in items:
            value, seen = item if names else (item, ())
            site.walks[walk] += 1
            if bool(value) is decisive:
                site.example = dict(zip(names, seen, strict=True))
                return decisive
        return not decisive

    def judge(self, number: int, is_whole: bool) -> None:  # noqa: FBT001 - called by rewritten code
        """Fail if an assert checked nothing.

        Raises:
            AssertionError: Says why.
        """
        if fault := find_fault([self.sites[number]], is_whole=is_whole):
            raise AssertionError(fault[1])

    def explain(self, number: int, message: object, names: tuple[str, ...], variables: Mapping[str, Any]) -> str:
        """Return the message of a failing assert: what it says, then the values, shortened."""
        site = self.sites[number]
        site.failed = True
        seen = {name: variables[name] for name in names if name in variables} | site.example
        values = ", ".join(
            f"{name.removeprefix('@')} was {_shorten.repr(value)}"
            for name, value in seen.items()
            if not callable(value) and not isinstance(value, ModuleType)
        )
        return ": ".join(part for part in ("" if message is None else str(message), values) if part)


def find_fault(sites: Sequence[Site], *, is_whole: bool) -> tuple[int, str] | None:
    """Return the line of the first of some asserts, which all ran through, that checks nothing, and why.

    Args:
        sites: The asserts.
        is_whole: Whether every target is there; an assert may wait for one that is missing.
    """
    for site in sites:
        if site.fault and site.ran:
            return site.line, site.fault
        if site.failed:
            return site.line, "this assert failed, and an `except` swallowed it"
        if is_whole and site.must_run and not site.ran:
            return site.line, "this assert never ran: what stands around it holds for nothing"
        if is_whole and site.ran and 0 in site.walks:
            return site.line, "this assert looked at nothing: what its `all` or `any` walks through is empty"
    return None
