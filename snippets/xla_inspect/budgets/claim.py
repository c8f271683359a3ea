"""The claims of a budget file about a program: bounds on numbers, and assertions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from xla_inspect.analysis import COLLECTIVE_KINDS
from xla_inspect.budgets.bound import read_amount, read_bound
from xla_inspect.budgets.budget_schema import make_form_error, read_arguments, read_targets, read_text, read_texts
from xla_inspect.budgets.measures import MEASURES, TRACES, suggest_kind
from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_name

_COUNTED: Mapping[str, str] = {"bytes": "bytes", "sent": "bytes", "count": ""}
"""The numbers of collectives, each with its unit."""


@dataclass(frozen=True)
class Claim:
    """A bound or assertion that must hold for a program.

    Attributes:
        name: The number or assertion.
        given: The bound or the arguments of the assertion, as plain data.
    """

    name: str
    given: Any

    def __str__(self) -> str:
        """Return the name of the claim and its bound or arguments, such as `peak < 9 GiB`."""
        return f"{self.name} {_show(self.given)}".strip()


def read_claims(where: str, key: str, value: Any) -> list[Claim]:  # noqa: ANN401 - whatever stands in the file
    """Return the claims that a key of a program in the budget file makes, after checking the form of its value.

    Args:
        where: The name of the place in errors.
        key: One of `MEASURES` or `CLAIMS`.
        value: The value of the key.

    Raises:
        InspectError: The value has another form.
    """
    if key in MEASURES or key == TRACES:
        read_bound(value, MEASURES[key].unit if key in MEASURES else "", where)
        return [Claim(key, value)]
    return CLAIMS[key](where, value)


def _names(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    """Return one claim of `one_kernel` or `apart` for a list of names, or one for each of several lists."""
    lists = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    # The place ends with the key, as in `FILE: [step]: apart`, and two keys share this reader.
    key = where.rpartition(" ")[2]
    least = 2 if key == "apart" else 1
    for names in lists:
        if (
            not isinstance(names, list | str)
            or len(read_texts(where, names)) < least
            or (key == "apart" and len(names) > least)
        ):
            raise make_form_error(
                where, value, 'a list of names, such as ["softmax", "scale"], or a list of such lists'
            )
    return [Claim(key, list(read_texts(where, names))) for names in lists]


def _place(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    return [
        # An argument in digits is a position, possibly negative; any other text is the name of an argument.
        Claim(where.rpartition(" ")[2], int(argument) if argument.lstrip("-").isdecimal() else argument)
        for argument in read_arguments(where, value)
    ]


def _fits(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    # `fits = true` means the target of the budget; `false` would claim nothing and is therefore rejected.
    if value is True:
        return [Claim("fits", "")]
    if isinstance(value, bool):
        raise make_form_error(where, value, "true, or targets")
    return [Claim("fits", target) for target in read_targets(where, value)]


def _copies(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    if value is False:
        raise make_form_error(where, value, "true, or the size of the largest copy that is allowed")
    if value is not True:
        read_amount(value, "bytes", where)
    return [Claim("no_copies", 0 if value is True else value)]


def _rows(where: str, value: Any, keys: Collection[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - as in the file
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, dict):
            raise make_form_error(where, row, f"a table of {', '.join(keys)}")
        for key in row:
            if key not in keys:
                message = f"{where}: {key!r} is not known; {suggest_name(key, keys)}"
                raise InspectError(message)
        if (kind := row.get("kind", "")) and kind not in COLLECTIVE_KINDS:
            message = f"{where}: there is no collective {kind!r}; {suggest_kind(str(kind))}"
            raise InspectError(message)
        read_text(where, row.get("over", "-"))
    return rows


def _absent(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    value = [
        {"kind": entry} if isinstance(entry, str) else entry
        for entry in (value if isinstance(value, list) else [value])
    ]
    rows = _rows(where, value, ("kind", "over", "larger_than"))
    for row in rows:
        read_amount(row.get("larger_than", 0), "bytes", f"{where}: larger_than")
    return [Claim("none", row) for row in rows]


def _traffic(where: str, value: Any) -> list[Claim]:  # noqa: ANN401 - as in the file
    rows = _rows(where, value, ("kind", "over", *_COUNTED))
    for row in rows:
        if not {*row} & {*_COUNTED}:
            raise make_form_error(where, row, f"a table with one of {', '.join(_COUNTED)}")
        for key in _COUNTED:
            if key in row:
                bound = read_bound(row[key], "bytes" if _COUNTED[key] else "", f"{where}: {key}")
                # The record has only the total of all collectives, so there is nothing to compare one kind or axis
                # with.
                if bound.number is None:
                    message = (
                        f"{where}: {key} must be a number, because single collectives are not recorded; for a bound "
                        "relative to the record use exchanged"
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
"""The claims other than bounds on numbers, each with the function that reads it."""


def _show(claim: object) -> str:
    if isinstance(claim, Mapping):
        return ", ".join(f"{key} {value}" for key, value in claim.items())
    if isinstance(claim, list):
        return ", ".join(map(str, claim))
    return "" if claim == "" else str(claim)
