"""A shim, not a fix: lets torchax be imported with a PyTorch that has dropped operations which torchax names.

At import torchax builds a table from PyTorch's operations to JAX functions, and asks PyTorch for some that are gone,
the variants for named tensors among them. While the shim is in place such a name gives a stand-in. Nobody can call an
operation that is gone, so its entry in the table is never looked up. What torchax's authors do not test may break.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from torch import _ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Gone:
    """What stands for an operation that PyTorch no longer has."""

    def __init__(self, name: str) -> None:
        """Remember the name that was asked for."""
        self.name = name

    def __getattr__(self, variant: str) -> Gone:
        """Return a stand-in for one of the operation's variants, too."""
        if variant.startswith("__"):
            raise AttributeError(variant)
        return Gone(f"{self.name}.{variant}")


@contextlib.contextmanager
def missing_operations() -> Iterator[list[str]]:
    """Give stand-ins for operations that PyTorch does not have; the list fills with their names, in order."""
    names: list[str] = []
    places: dict[type, str] = {_ops.OpOverloadPacket: "_qualified_op_name", _ops._OpNamespace: "name"}  # noqa: SLF001 - no other way in
    originals: dict[type, Callable[[object, str], object]] = {place: vars(place)["__getattr__"] for place in places}

    def stand_in(place: type, attribute: str) -> Callable[[object, str], object]:
        def find(self: object, key: str) -> object:
            try:
                return originals[place](self, key)
            except AttributeError:
                if key.startswith("__"):
                    raise
                names.append(f"{getattr(self, attribute)}.{key}".replace("::", "."))
                return Gone(names[-1])

        return find

    for place, attribute in places.items():
        setattr(place, "__getattr__", stand_in(place, attribute))  # noqa: B010 - a type has none to assign to
    try:
        yield names
    finally:
        for place, original in originals.items():
            setattr(place, "__getattr__", original)  # noqa: B010 - the same
