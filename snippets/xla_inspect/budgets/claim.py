"""What has to hold of a program, as a file of budgets says it: bounds on numbers, and assertions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from xla_inspect.analysis import COLLECTIVE_KINDS
from xla_inspect.budgets.bound import read_amount, read_bound
from xla_inspect.budgets.budget_schema import read_arguments, read_targets, read_text, read_texts, refuse
from xla_inspect.budgets.measures import MEASURES, TRACES, suggest_kind
from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_name

_COUNTED: Mapping[str, str] = {"bytes": "bytes", "sent": "bytes", "count": ""}
"""What is counted of collectives, and its unit."""


@dataclass(frozen=True)
class Claim:
    """One thing that has to hold of a program.

    Attributes:
        name: The number or assertion that it is of.
        given: What it is, as plain data.
    """

    name: str
    given: Any

    def __str__(self) -> str:
        """Return it in few words."""
        return f"{self.name} {_show(self.given)}".strip()


def read_claims(where: str, key: str, given: Any) -> list[Claim]:  # noqa: ANN401 - whatever stands in the file
    """Return what a key of a program says that has to hold.

    Args:
        where: What errors call the place.
        key: One of `MEASURES` or `CLAIMS`.
        given: What stands there.

    Raises:
        InspectError: It is of another form.
    """
    if key in MEASURES or key == TRACES:
        read_bound(given, MEASURES[key].unit if key in MEASURES else "", where)
        return [Claim(key, given)]
    return CLAIMS[key](where, given)


def _names(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    """Read one list of names, or several."""
    lists = given if isinstance(given, list) and given and isinstance(given[0], list) else [given]
    key = where.rpartition(" ")[2]
    least = 2 if key == "apart" else 1
    for each in lists:
        if (
            not isinstance(each, list | str)
            or len(read_texts(where, each)) < least
            or (key == "apart" and len(each) > least)
        ):
            raise refuse(where, given, 'a list of names, such as ["softmax", "scale"], or a list of such lists')
    return [Claim(key, list(read_texts(where, each))) for each in lists]


def _place(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    return [
        Claim(where.rpartition(" ")[2], int(each) if each.lstrip("-").isdecimal() else each)
        for each in read_arguments(where, given)
    ]


def _fits(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    if given is True:
        return [Claim("fits", "")]
    if isinstance(given, bool):
        raise refuse(where, given, "true, or targets")
    return [Claim("fits", each) for each in read_targets(where, given)]


def _copies(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    if given is False:
        raise refuse(where, given, "true, or the size of the largest that may be")
    if given is not True:
        read_amount(given, "bytes", where)
    return [Claim("no_copies", 0 if given is True else given)]


def _rows(where: str, given: Any, known: Collection[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - as in the file
    rows = given if isinstance(given, list) else [given]
    for row in rows:
        if not isinstance(row, dict):
            raise refuse(where, row, f"a table of {', '.join(known)}")
        for key in row:
            if key not in known:
                message = f"{where}: {key!r} is not known; {suggest_name(key, known)}"
                raise InspectError(message)
        if (kind := row.get("kind", "")) and kind not in COLLECTIVE_KINDS:
            message = f"{where}: there is no collective {kind!r}; {suggest_kind(str(kind))}"
            raise InspectError(message)
        read_text(where, row.get("over", "-"))
    return rows


def _absent(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    given = [
        {"kind": each} if isinstance(each, str) else each for each in (given if isinstance(given, list) else [given])
    ]
    rows = _rows(where, given, ("kind", "over", "larger_than"))
    for row in rows:
        read_amount(row.get("larger_than", 0), "bytes", f"{where}: larger_than")
    return [Claim("none", row) for row in rows]


def _traffic(where: str, given: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    rows = _rows(where, given, ("kind", "over", *_COUNTED))
    for row in rows:
        if not {*row} & {*_COUNTED}:
            raise refuse(where, row, f"a table with one of {', '.join(_COUNTED)}")
        for key in _COUNTED:
            if key in row:
                bound = read_bound(row[key], "bytes" if _COUNTED[key] else "", f"{where}: {key}")
                if bound.number is None:
                    message = (
                        f"{where}: {key} has to be a number: of single collectives none is recorded; bound exchanged"
                    )
                    raise InspectError(message)
    return [Claim("collectives", row) for row in rows]


CLAIMS: Mapping[str, Callable[[str, Any], list[Claim]]] = {
    TRACES: lambda _, given: [Claim(TRACES, given)],
    "donated": _place,
    "in_place": _place,
    "one_kernel": _names,
    "apart": _names,
    "no_copies": _copies,
    "none": _absent,
    "collectives": _traffic,
    "fits": _fits,
}
"""What has to hold besides bounds on numbers, and what reads each."""


def _show(given: object) -> str:
    if isinstance(given, Mapping):
        return ", ".join(f"{key} {value}" for key, value in given.items())
    if isinstance(given, list):
        return ", ".join(map(str, given))
    return "" if given == "" else str(given)
