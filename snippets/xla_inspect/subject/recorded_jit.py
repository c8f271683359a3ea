"""A recorded call of a script's jitted function, which can be traced again for any target."""

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
    """A script's jitted function with its static arguments bound, traced under the script's settings.

    Args:
        function: The function that was jitted.
        info: JAX's record of the `jit` options.
        source: The user's function inside any wrappers.
        statics: The static arguments: positional ones by number, keyword ones by name.
        before: The result of the script's own trace.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        info: Any,
        source: Callable[..., Any],
        statics: Mapping[int | str, Any],
        before: Any,
    ) -> None:
        """Store the arguments without tracing."""
        self._before = before, list(map(_abstract, before[1]))
        # `inspect.unwrap` follows this attribute to the user's file and line.
        self.__wrapped__ = open_wrappers(source)
        self.__name__ = name_function(function)
        self._jitted = jax_private.jit_again(function, info)
        self._statics = {at: value for at, value in statics.items() if isinstance(at, int)}
        self._named = {name: value for name, value in statics.items() if isinstance(name, str)}
        # The script's settings may have changed by the time that the function is compiled.
        self._settings = jax_private.read_settings()
        self._meshes = jax_private.read_meshes()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the jitted function under the script's settings and meshes, with the static arguments added."""
        with jax_private.entered_settings(self._settings, self._meshes):
            return self._jitted(*self._place(args), **kwargs, **self._named)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """Trace the function, with the interface of `jax.jit`."""
        with jax_private.entered_settings(self._settings, self._meshes):
            try:
                traced: jax.stages.Traced = self._jitted.trace(*self._place(args), **kwargs, **self._named)
            except Exception:  # noqa: BLE001 - in the script it could be traced
                # State that the script's libraries set up for the trace, such as Flax's for modules, no longer exists.
                with jax_private.traced_before(*self._before):
                    traced = self._jitted.trace(*self._place(args), **kwargs, **self._named)
            return traced

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """Trace and lower the function, with the interface of `jax.jit`."""
        lowered: jax.stages.Lowered = self.trace(*args, **kwargs).lower()
        return lowered

    def _place(self, args: tuple[Any, ...]) -> list[Any]:
        values = iter(args)
        count = len(args) + len(self._statics)
        return [self._statics[at] if at in self._statics else next(values) for at in range(count)]


@dataclass(frozen=True)
class Noted:
    """A function that a script compiles, and one call of it.

    Attributes:
        name: The user's name for it.
        call: The call, with shapes instead of arrays.
        equations: The number of equations in its jaxpr, including inner functions.
        argument_bytes: The total size of its array arguments.
    """

    name: str
    call: Call
    equations: int
    argument_bytes: int


def note(
    function: Callable[..., Any], info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], traced: Any
) -> Noted:
    """Return a record of a jitted function's call, with shapes instead of arrays.

    Args:
        function: The function that was jitted.
        info: JAX's record of the `jit` options.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        traced: The result of JAX's trace.
    """
    positions = find_static(info, len(args))
    by_name = {name: value for name, value in kwargs.items() if name in info.static_argnames}
    statics: dict[int | str, Any] = {at: args[at] for at in sorted(positions)}
    statics.update(by_name)
    source = open_equinox(function, args) or function
    jitted = Jitted(function, info, source, statics, traced)
    positional = tuple(value for at, value in enumerate(args) if at not in positions)
    shapes, keywords = jax.tree.map(
        _abstract, (positional, {name: value for name, value in kwargs.items() if name not in by_name})
    )
    leaves = [leaf for leaf in jax.tree.leaves((shapes, keywords)) if isinstance(leaf, jax.ShapeDtypeStruct)]
    size = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    return Noted(jitted.__name__, Call(jitted, shapes, keywords), count_equations(traced[0].params["jaxpr"]), size)


def _abstract(leaf: Any) -> Any:
    """Return an array or tracer as a `ShapeDtypeStruct`, sharded if it spans devices, and other values unchanged."""
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    sharding = None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
    # The device that holds an unsharded array has no influence on the program.
    spread = isinstance(sharding, jax.sharding.NamedSharding) or getattr(sharding, "num_devices", 1) > 1
    return jax.ShapeDtypeStruct(
        leaf.shape,
        leaf.dtype,
        sharding=sharding if spread else None,
        weak_type=bool(getattr(leaf, "weak_type", False)),
    )


def count_equations(jaxpr: Any) -> int:
    """Return the number of equations in a jaxpr, including inner functions, each counted once."""
    visited: set[int] = set()
    stack, count = [jaxpr], 0
    while stack:
        inner = getattr(stack[-1], "jaxpr", stack[-1])
        stack.pop()
        if id(inner) in visited:
            continue
        visited.add(id(inner))
        count += len(inner.eqns)
        for equation in inner.eqns:
            for value in equation.params.values():
                values = value if isinstance(value, tuple | list) else (value,)
                stack += [part for part in values if hasattr(part, "eqns") or hasattr(part, "jaxpr")]
    return count
