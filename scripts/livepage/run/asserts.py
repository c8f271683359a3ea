"""The reports of plain asserts: compared values, as in `left was 3, right was 4`, and asserts that check nothing."""

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
    """The shortened representation of values; a data class is represented by its short fields only."""

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
    """An assert in the source, with the results of its runs.

    Attributes:
        line: The line in the source that was read.
        file: The module that contains the assert, if it is not the page.
        fault: The reason why the assert cannot fail, or an empty string.
        must_run: Whether the assert must run whenever its code does: it is in no function, and is no `assert False`.
        ran: The number of times it ran.
        failed: Whether it failed.
        walks: For each `all(...)` and `not any(...)` in it, the number of elements that were tested, over all runs.
        example: The values of the loop variables at the element that decided the result.
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
    """The results of the asserts in a namespace, which must contain this object under the name `HELPER`."""

    def __init__(self) -> None:
        """Start without asserts."""
        self.sites: list[Site] = []
        self.runs = 0

    def meet(self, number: int) -> bool:
        """Count one run of the assert with this number, and return True."""
        self.runs += 1
        self.sites[number].ran += 1
        return True

    def walk(self, number: int, walk: int, decisive: bool, names: tuple[str, ...], items: Iterable[Any]) -> bool:  # noqa: FBT001 - called by rewritten code
        """Return `all` of the items, or `any` if `decisive`; count the tested ones, and store the deciding example."""
        site = self.sites[number]
        for item in items:
            # Rewritten generator expressions yield pairs: the tested value and the values of the loop variables.
            value, values = item if names else (item, ())
            site.walks[walk] += 1
            if bool(value) is decisive:
                site.example = dict(zip(names, values, strict=True))
                return decisive
        return not decisive

    def judge(self, number: int, is_whole: bool) -> None:  # noqa: FBT001 - called by rewritten code
        """Raise an error if the assert with this number checked nothing.

        Raises:
            AssertionError: The assert checked nothing; the message gives the reason.
        """
        if fault := find_fault([self.sites[number]], is_whole=is_whole):
            raise AssertionError(fault[1])

    def explain(self, number: int, message: object, names: tuple[str, ...], variables: Mapping[str, Any]) -> str:
        """Note that an assert failed, and return its message: its own, then the shortened values of its names."""
        site = self.sites[number]
        site.failed = True
        values_by_name = {name: variables[name] for name in names if name in variables} | site.example
        values = ", ".join(
            f"{name.removeprefix('@')} was {_shorten.repr(value)}"
            for name, value in values_by_name.items()
            if not callable(value) and not isinstance(value, ModuleType)
        )
        return ": ".join(part for part in ("" if message is None else str(message), values) if part)


def find_fault(sites: Sequence[Site], *, is_whole: bool) -> tuple[int, str] | None:
    """Return the line and the fault of the first assert that checked nothing or whose failure was caught, or None.

    Args:
        sites: The asserts, after all of their code ran.
        is_whole: Whether all targets are available; otherwise an assert may depend on a missing one.
    """
    for site in sites:
        if site.fault and site.ran:
            return site.line, site.fault
        # A failed assert normally ends the check, so reaching this point means that the code caught the error.
        if site.failed:
            return site.line, "this assert failed, and an `except` swallowed it"
        if is_whole and site.must_run and not site.ran:
            return site.line, "this assert never ran: what stands around it holds for nothing"
        if is_whole and site.ran and 0 in site.walks:
            return site.line, "this assert looked at nothing: what its `all` or `any` walks through is empty"
    return None
