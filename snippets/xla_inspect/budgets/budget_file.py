"""The reader of the budget file, `xla-budget.toml`: programs, their calls, and the bounds that each must satisfy."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.budgets.budget_schema import (
    read_arguments,
    read_count,
    read_mesh,
    read_options,
    read_sizes,
    read_switch,
    read_targets,
    read_text,
    read_texts,
)
from xla_inspect.budgets.claim import CLAIMS, Claim, read_claims
from xla_inspect.budgets.measures import MEASURES
from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_file, suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

EXAMPLE = """
[step]
subject = "train.py:step"
target = "h100"
peak = "< 9 GiB"
"""
"""The example in the error about an empty file."""


@dataclass(frozen=True)
class Budget:
    """One program of a budget file, with its targets, its call and its claims.

    Attributes:
        name: The name of the program in the file.
        subject: The function, as on the command line.
        targets: The short names of the targets.
        call: The call, as fields of a `Request`: `mesh`, `dims`, `donate`, `static`, `args`, ...
        calls: The shapes of further calls, for `traces`.
        claims: The bounds and assertions.
    """

    name: str
    subject: str
    targets: tuple[str, ...]
    call: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


def read_budgets(path: Path) -> tuple[Budget, ...]:
    """Return the programs of a budget file with their bounds.

    Raises:
        InspectError: There is no such file, it is not TOML, or it has no program, an unknown key or an invalid value.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"no file {path}{suggest_file(path) or f'; write one such as:\n{EXAMPLE}'}"
        raise InspectError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {path}: {getattr(error, 'strerror', '') or error}"
        raise InspectError(message) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"{path} is not valid TOML: {error}"
        raise InspectError(message) from error
    if not data:
        message = f"{path} contains no program; write one such as:\n{EXAMPLE}"
        raise InspectError(message)
    return tuple(_read_budget(f"{path}: [{name}]", name, table) for name, table in data.items())


def _read_budget(where: str, name: str, table: object) -> Budget:
    # TOML puts keys above the first header at the top level, where they belong to no program.
    if not isinstance(table, dict):
        file = where.partition(": [")[0]
        message = f"{file}: {name!r} is outside of any program; put it below a line such as [step]"
        raise InspectError(message)
    keys = {*_CALL, *CLAIMS, *MEASURES}
    for key in table:
        if key not in keys:
            message = f"{where}: {key!r} is not known; {suggest_name(key, sorted(keys))}"
            raise InspectError(message)
    call = {key: _CALL[key](f"{where}: {key}", table[key]) for key in _CALL if key in table}
    if "subject" not in call:
        message = f'{where} has no subject; name the function, as in subject = "train.py:step"'
        raise InspectError(message)
    # Both spellings are allowed, so a target that is listed under each of them must be noticed.
    targets = call.pop("target", ()) + call.pop("targets", ())
    if len({*targets}) < len(targets):
        message = f"{where} names a target twice: {', '.join(targets)}"
        raise InspectError(message)
    if sizes := call.pop("dim", {}):
        call["dims"] = sizes
    claims = [claim for key in table if key not in _CALL for claim in read_claims(f"{where}: {key}", key, table[key])]
    return Budget(
        name, call.pop("subject"), targets or ("cpu",), calls=call.pop("calls", ()), call=call, claims=tuple(claims)
    )


_CALL: Mapping[str, Callable[[str, Any], Any]] = {
    "subject": read_text,
    "target": read_targets,
    "targets": read_targets,
    "args": read_text,
    "args_from": read_text,
    "mesh": read_mesh,
    "dim": read_sizes,
    "in_spec": read_texts,
    "out_spec": read_texts,
    "donate": read_arguments,
    "static": read_arguments,
    "grad": read_switch,
    "vmap": read_count,
    "xla": read_options,
    "calls": read_texts,
}
"""The keys that describe the call of a program, each with the function that reads it."""
