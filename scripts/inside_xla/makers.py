"""The packages that produced the captures on a page, as text for the foot of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_DEEPEST = 4
"""The largest depth of containers that are searched: a dictionary of captures by target, by program, by option."""


def describe_makers(values: Iterable[object]) -> list[str]:
    """Return the versions that produced captures, by target, as in `CPU with jax 0.12.0 and jaxlib 0.12.0`.

    Args:
        values: The values of the page's names; captures are also found in their containers.
    """
    from xla_inspect.targets import explain_tiles

    targets: dict[tuple[str, tuple[str, ...]], None] = {}
    for capture in _find_captures(values, set(), _DEEPEST):
        if not capture.versions:
            continue  # a dump, whose files do not record the versions
        versions = tuple(f"{name} {version}" for name, version in sorted(capture.versions.items()))
        tiles = explain_tiles(capture.options)
        how = f", without a GPU: tiles of matmuls are {tiles}" if tiles else ""
        targets[capture.target.partition(":")[0], (*versions, how)] = None
    makers: dict[tuple[str, ...], list[str]] = {}
    for target, origin in sorted(targets, key=_order):
        if target not in makers.setdefault(origin, []):
            makers[origin].append(target)
    return [
        f"{_join([_name(target) for target in names])} with {_join([*versions])}{how}"
        for (*versions, how), names in makers.items()
    ]


def _find_captures(values: Iterable[object], visited: set[int], depth: int) -> Iterator[Any]:
    """Yield the captures among values and in their containers, recognized by the name of their class.

    The package may be reloaded, so the class itself may differ.
    """
    for value in values:
        if id(value) in visited:
            continue
        # A capture may have several names on a page, and containers may contain themselves.
        visited.add(id(value))
        if type(value).__name__ == "Capture":
            yield value
        elif depth and isinstance(value, Mapping):
            yield from _find_captures([*value.values()], visited, depth - 1)
        elif depth and isinstance(value, list | tuple):
            yield from _find_captures(value, visited, depth - 1)


def _order(origin: tuple[str, tuple[str, ...]]) -> tuple[int, tuple[str, ...]]:
    from xla_inspect import TARGETS

    return TARGETS.index(origin[0]) if origin[0] in TARGETS else len(TARGETS), origin[1]


def _name(target: str) -> str:
    from xla_inspect.report import title

    return title(target)


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
