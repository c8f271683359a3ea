"""A call of a jitted function that a script made, kept so that it can be traced once more for any target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import jax_private
from xla_inspect.subject.call_signature import find_static
from xla_inspect.subject.function_names import name_function, open_equinox, open_wrappers
from xla_inspect.subject.subject import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Jitted:
    """A function jitted as a script jitted it, with its static arguments held, and traced under what was set there.

    Args:
        function: The function that was jitted.
        info: JAX's record of how.
        source: What the reader wrote of it.
        statics: The static arguments: those that were given by position, by their number, and by keyword, by name.
        before: What JAX traced it to in the script.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        info: Any,
        source: Callable[..., Any],
        statics: Mapping[int | str, Any],
        before: Any,
    ) -> None:
        """Trace nothing yet."""
        self._before = before, list(map(_abstract, before[1]))
        self.__wrapped__ = open_wrappers(source)
        self.__name__ = name_function(function)
        self._jitted = jax_private.jit_again(function, info)
        self._statics = {at: value for at, value in statics.items() if isinstance(at, int)}
        self._named = {name: value for name, value in statics.items() if isinstance(name, str)}
        self._settings = jax_private.read_settings()
        self._meshes = jax_private.read_meshes()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        with jax_private.entered_settings(self._settings, self._meshes):
            return self._jitted(*self._place(args), **kwargs, **self._named)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """Trace it, as `jax.jit` has it."""
        with jax_private.entered_settings(self._settings, self._meshes):
            try:
                traced: jax.stages.Traced = self._jitted.trace(*self._place(args), **kwargs, **self._named)
            except Exception:  # noqa: BLE001 - in the script it could be traced
                # What the script's libraries held ready then, such as Flax's for its modules, is no longer there.
                with jax_private.traced_before(*self._before):
                    traced = self._jitted.trace(*self._place(args), **kwargs, **self._named)
            return traced

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """Trace and lower it, as `jax.jit` has it."""
        lowered: jax.stages.Lowered = self.trace(*args, **kwargs).lower()
        return lowered

    def _place(self, args: tuple[Any, ...]) -> list[Any]:
        given = iter(args)
        count = len(args) + len(self._statics)
        return [self._statics[at] if at in self._statics else next(given) for at in range(count)]


@dataclass(frozen=True)
class Noted:
    """A function that a script compiles, and one call of it.

    Attributes:
        name: What the reader calls it.
        call: The call, with shapes in the place of arrays.
        equations: How many equations it was traced to, those of inner functions too.
        argument_bytes: How large the arrays are that it was called with.
    """

    name: str
    call: Call
    equations: int
    argument_bytes: int


def note(
    function: Callable[..., Any], info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], traced: Any
) -> Noted:
    """Return a call of a jitted function, with shapes in the place of arrays.

    Args:
        function: The function that was jitted.
        info: JAX's record of how.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        traced: What JAX traced it to.
    """
    positions = find_static(info, len(args))
    by_name = {name: value for name, value in kwargs.items() if name in info.static_argnames}
    statics: dict[int | str, Any] = {at: args[at] for at in sorted(positions)}
    statics.update(by_name)
    source = open_equinox(function, args) or function
    jitted = Jitted(function, info, source, statics, traced)
    given = tuple(value for at, value in enumerate(args) if at not in positions)
    shapes, named = jax.tree.map(
        _abstract, (given, {name: value for name, value in kwargs.items() if name not in by_name})
    )
    leaves = [leaf for leaf in jax.tree.leaves((shapes, named)) if isinstance(leaf, jax.ShapeDtypeStruct)]
    size = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    return Noted(jitted.__name__, Call(jitted, shapes, named), count_equations(traced[0].params["jaxpr"]), size)


def _abstract(leaf: Any) -> Any:
    """Return the shape of an array, or of a tracer, with how it lies on its devices; anything else as it is."""
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    sharding = None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
    spread = isinstance(sharding, jax.sharding.NamedSharding) or getattr(sharding, "num_devices", 1) > 1
    return jax.ShapeDtypeStruct(
        leaf.shape,
        leaf.dtype,
        sharding=sharding if spread else None,
        weak_type=bool(getattr(leaf, "weak_type", False)),
    )


def count_equations(jaxpr: Any) -> int:
    """Return how many equations a function was traced to, those of inner functions too, each once."""
    seen: set[int] = set()
    left, count = [jaxpr], 0
    while left:
        inner = getattr(left[-1], "jaxpr", left[-1])
        left.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        count += len(inner.eqns)
        for equation in inner.eqns:
            for value in equation.params.values():
                values = value if isinstance(value, tuple | list) else (value,)
                left += [each for each in values if hasattr(each, "eqns") or hasattr(each, "jaxpr")]
    return count
