"""What an object of a page holds, followed as far as the page itself may change it, so that a change shows."""

from __future__ import annotations

import enum
import functools
import random
import re
import sys
import types
from collections import deque
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from livepage.read import project

MOST = 400
"""How many objects of a name are followed; what it holds beyond them counts as it is."""

SIMPLE = (int, float, complex, str, bytes, bool, type(None), type(...), range, slice, PurePath, re.Pattern)
_PLAIN = (int, float, complex, str, bytes, PurePath)
_PLAIN_MODULES = ("types", "collections", "argparse")
_BYTES = 1 << 22

type Leaves = tuple[object, ...]


class Trail(NamedTuple):
    """What an object holds.

    Attributes:
        leaves: What it consists of, in order.
        is_spent: Whether something in it changes when it is used: an iterator, random numbers, a function that
            remembers its calls.
    """

    leaves: Leaves
    is_spent: bool


def follow(value: object, page: str, *, is_open: bool = False) -> Trail:
    """Follow what a name of a page stands for.

    Args:
        value: The object.
        page: The name of the page's own module.
        is_open: Whether what packages made is followed too.
    """
    trail = _Follower(page, is_open=is_open)
    trail.follow(value)
    return Trail(tuple(trail.leaves), trail.is_spent)


def is_same(one: object, other: object) -> bool:
    """Return whether two objects are one, or plain values that cannot be told from each other."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple) and type(one) is tuple:
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, _PLAIN) and one == other and repr(one) == repr(other)


def is_unchanged(one: Trail, other: Trail) -> bool:
    """Return whether an object holds what it held."""
    return len(one.leaves) == len(other.leaves) and all(map(is_same, one.leaves, other.leaves))


class _Follower:
    """Walks through what an object holds, each object once."""

    def __init__(self, page: str, *, is_open: bool) -> None:
        self.page, self.is_open = page, is_open
        self.leaves: list[object] = []
        self.is_spent = False
        self._seen: set[int] = set()

    def follow(self, value: Any) -> None:  # noqa: ANN401 - whatever a page holds
        """Go through an object."""
        self.leaves.append(value if isinstance(value, SIMPLE) else type(value))
        if isinstance(value, SIMPLE) or len(self.leaves) > MOST:
            return
        self.leaves.append(value)
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if _is_spent(value):
            self.is_spent = True
        for part in self._list_parts(value):
            self.follow(part)

    def _list_parts(self, value: Any) -> list[object]:  # noqa: ANN401 - as above
        parts: list[object] = []
        if isinstance(value, dict):
            parts += [len(value), *(part for item in list(value.items()) for part in item)]
        elif isinstance(value, list | tuple | set | frozenset | deque):
            parts += [len(value), *value]
        elif isinstance(value, bytearray) or (type(value).__module__, type(value).__name__) in _ARRAYS:
            return [_hash_bytes(value)]
        if isinstance(value, types.FunctionType):
            return self._list_of_function(value) if value.__module__ == self.page else []
        if isinstance(value, types.MethodType):
            return [value.__self__]
        if isinstance(value, functools.partial):
            return [value.func, *value.args, *value.keywords.values()]
        if isinstance(value, type):
            return self._list_fields(value) if value.__module__ == self.page else []
        return parts + (self._list_fields(value) if self._is_followed(type(value)) else [])

    def _list_of_function(self, function: types.FunctionType) -> list[object]:
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # nothing is in it yet
                cells.append(None)
        return [*cells, function.__defaults__, function.__kwdefaults__, *vars(function).items()]

    def _list_fields(self, value: object) -> list[object]:
        if isinstance(value, type):
            held = {name: field for name, field in vars(value).items() if not name.startswith("__")}
            return [part for field in held.items() for part in field]
        once, slots = _read_class(type(value))
        held = {name: field for name, field in getattr(value, "__dict__", {}).items() if name not in once}
        return [part for field in held.items() for part in field] + [getattr(value, name, None) for name in slots]

    def _is_followed(self, kind: type) -> bool:
        """Return whether a page may change what instances of a class hold: it is the page's or the project's.

        What packages make is theirs; it is changed where the code says so.
        """
        return not issubclass(kind, enum.Enum) and (
            self.is_open or kind.__module__ in {self.page, *_PLAIN_MODULES} or _is_own(kind.__module__)
        )


_classes: WeakKeyDictionary[type, tuple[frozenset[str], tuple[str, ...]]] = WeakKeyDictionary()


def _read_class(kind: type) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the attributes of instances that are found out once and stay, and those that stand in slots."""
    if kind not in _classes:
        fields = [item for base in kind.__mro__ for item in vars(base).items()]
        once = frozenset(name for name, field in fields if isinstance(field, functools.cached_property))
        _classes[kind] = once, tuple(name for base in kind.__mro__ for name in _list_slots(base))
    return _classes[kind]


def _list_slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if name not in {"__dict__", "__weakref__"}]


_ARRAYS = {("numpy", "ndarray"), ("array", "array")}


def _hash_bytes(value: Any) -> object:  # noqa: ANN401 - as above
    try:
        return hash(bytes(value)) if memoryview(value).nbytes <= _BYTES else None
    except (TypeError, ValueError, BufferError):
        return None


def _is_spent(value: Any) -> bool:  # noqa: ANN401 - as above
    kind = type(value)
    if isinstance(value, Iterator) or kind.__module__.startswith(("numpy.random", "random")):
        return True
    # What wraps a function in another language remembers its calls.
    return callable(value) and not isinstance(value, types.FunctionType | type) and hasattr(value, "__wrapped__")


def _is_own(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    is_shared = module.partition(".")[0] in project.adapter.packages
    return not is_shared and file.startswith(f"{project.root / 'snippets'}/")


def list_own_modules() -> dict[str, types.ModuleType]:
    """Return the modules of the project that are read anew for each page."""
    folder = f"{project.root / 'snippets'}/"
    return {
        name: module
        for name, module in list(sys.modules.items())
        if (getattr(module, "__file__", None) or "").startswith(folder)
        and name.partition(".")[0] not in project.adapter.packages
    }


def look_at(module: types.ModuleType) -> dict[str, tuple[object, int]]:
    """Return what the names of a module stand for, and how much each holds; lists and the like are not followed."""
    return {
        name: (value, len(value) if isinstance(value, list | dict | set) else 0)
        for name, value in list(vars(module).items())
        if not name.startswith("__") and not isinstance(value, types.ModuleType)
    }


def holds_the_same(before: dict[str, tuple[object, int]], now: dict[str, tuple[object, int]]) -> bool:
    """Return whether a module holds what it held; it may have loaded more."""
    return all(
        name in now and now[name][0] is value and now[name][1] == count for name, (value, count) in before.items()
    )


def may_change(value: object) -> bool:
    """Return whether an object is worth following."""
    if isinstance(value, types.FunctionType):
        return bool(value.__closure__ or value.__defaults__ or value.__kwdefaults__ or vars(value))
    return not isinstance(value, (*SIMPLE, types.ModuleType, types.BuiltinFunctionType))


def can_look_into(value: object) -> bool:
    """Return whether all that an object holds is there for Python to see."""
    if isinstance(value, list | dict | set | tuple):
        return True
    slots = _read_class(type(value))[1]
    pointer = 8
    # What another language keeps in an object makes it larger than what Python knows of.
    return type(value).__basicsize__ == object.__basicsize__ + pointer * len(slots)


def list_called(value: object, page: str, carried: frozenset[str]) -> frozenset[str]:
    """Return the names of a page that are read when an object is used.

    Args:
        value: The object.
        page: The name of the page's module.
        carried: Those that may be, as far as the text of the piece tells that made it.
    """
    if isinstance(value, (*SIMPLE, types.ModuleType)):
        return frozenset()
    if isinstance(value, types.FunctionType) and type(value) is types.FunctionType:
        if value.__module__ == page and not may_change(value):
            return frozenset(_list_names(value.__code__))
        return frozenset() if value.__module__ != page and not value.__closure__ else carried
    return carried


def _list_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _list_names(part)


def read_chance() -> dict[str, object]:
    """Return where the random numbers of this process are that everybody draws from."""
    draw = getattr(sys.modules.get("numpy.random"), "get_state", None)
    drawn = [part.tobytes() if hasattr(part, "tobytes") else part for part in draw()] if draw else []
    return {"random": random.getstate()} | ({"numpy": drawn} if draw else {})
