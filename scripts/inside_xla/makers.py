"""Which packages made the captures that a page shows, in words for its foot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_DEEPEST = 4
"""How deep captures lie in what a page's names stand for: a dictionary of captures by target, by program, by option."""


def describe_makers(values: Iterable[object]) -> list[str]:
    """Return for the targets of some captures which versions made them, as in `CPU with jax 0.12.0 and jaxlib 0.12.0`.

    Args:
        values: What the names of a page stand for; captures are looked for in their containers too.
    """
    from xla_inspect.targets import explain_tiles

    targets: dict[tuple[str, tuple[str, ...]], None] = {}
    for capture in _find_captures(values, set(), _DEEPEST):
        if not capture.versions:
            continue  # a dump, whose files say nothing of their makers
        versions = tuple(f"{name} {version}" for name, version in sorted(capture.versions.items()))
        tiles = explain_tiles(capture.options)
        how = f", without a GPU: tiles of matmuls are {tiles}" if tiles else ""
        targets[capture.target.partition(":")[0], (*versions, how)] = None
    makers: dict[tuple[str, ...], list[str]] = {}
    for target, made in sorted(targets, key=_order):
        if target not in makers.setdefault(made, []):
            makers[made].append(target)
    return [
        f"{_join([_name(target) for target in named])} with {_join([*versions])}{how}"
        for (*versions, how), named in makers.items()
    ]


def _find_captures(values: Iterable[object], met: set[int], depth: int) -> Iterator[Any]:
    """Yield the captures among values and in their containers, by name since the package may be reloaded."""
    for value in values:
        if id(value) in met:
            continue
        met.add(id(value))
        if type(value).__name__ == "Capture":
            yield value
        elif depth and isinstance(value, Mapping):
            yield from _find_captures([*value.values()], met, depth - 1)
        elif depth and isinstance(value, list | tuple):
            yield from _find_captures(value, met, depth - 1)


def _order(made: tuple[str, tuple[str, ...]]) -> tuple[int, tuple[str, ...]]:
    from xla_inspect import TARGETS

    return TARGETS.index(made[0]) if made[0] in TARGETS else len(TARGETS), made[1]


def _name(target: str) -> str:
    from xla_inspect.report import title

    return title(target)


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
