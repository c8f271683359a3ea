"""The signature of a jitted function's call: its arguments, options and settings, without keeping any value alive."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import itertools
import weakref
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import jax_private
from xla_inspect.analysis import Leaf, Signature, Value
from xla_inspect.subject.function_names import open_equinox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SHORT = {"bfloat16": "bf16", "bool": "bool", "float": "f", "uint": "u", "int": "i", "complex": "c"}
_OPTIONS = {
    "static": ("static_argnames", "static_argnums"),
    "donated": ("donate_argnames", "donate_argnums"),
    "in_shardings": ("in_shardings_leaves",),
    "out_shardings": ("out_shardings_leaves",),
    "keep_unused": ("keep_unused",),
    "inline": ("inline",),
    "compiler_options": ("compiler_options_kvs",),
}

# Weak keys do not keep the user's functions alive, and unlike addresses, the numbers are never reused.
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_count = itertools.count(1)


def sign(function: Callable[..., Any], info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Signature:
    """Return the signature of one call of a jitted function: its arguments, options and settings.

    Args:
        function: The function that was jitted.
        info: JAX's record of the `jit` options.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """
    dynamic, statics = split_static(function, info, args, kwargs)
    leaves: dict[str, Leaf] = {}
    nodes: dict[str, Value] = {}
    for name, value in dynamic.items():
        flat, tree = jax.tree.flatten(value)
        paths, containers, extras = _outline(name, tree, value)
        leaves.update(zip(paths, map(_describe, flat), strict=True))
        nodes |= containers
        statics |= extras
    options = {
        # JAX's record of an option may have both names and numbers of arguments, and names are preferred.
        name: ", ".join(map(str, next(filter(None, (_list(getattr(info, field, ())) for field in fields)), ())))
        for name, fields in _OPTIONS.items()
    }
    settings = {name.removeprefix("jax_"): str(value) for name, value in jax_private.read_settings().items()}
    # Meshes are not among JAX's options, but a call under another mesh is traced again.
    settings["mesh"] = "".join(str(mesh) for mesh in jax_private.read_meshes() if not mesh.empty)
    return Signature(
        leaves,
        nodes,
        {name: Value.of(value) for name, value in statics.items()},
        frozenset(kwargs),
        number(function),
        options,
        settings,
    )


def _outline(name: str, tree: Any, value: Any) -> tuple[list[str], dict[str, Value], dict[str, Any]]:
    """Return a pytree's leaf paths, the types of its containers by path, and their non-child fields by path."""
    paths = [name + jax.tree_util.keystr(keys) for keys, _ in jax.tree_util.tree_flatten_with_path(value)[0]]
    nodes, extras = {}, {}
    for path, container, fields in _list_nodes(tree, name):
        nodes[path] = Value(container)
        extras.update({f"{path}.{field}" if field else path: part for field, part in fields.items()})
    return paths, nodes, extras


def _list(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def split_static(
    function: Callable[..., Any], info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the traced arguments and the static arguments, each as values by argument name."""
    names = name_positions(getattr(info, "fun_signature", None), len(args), "argument ")
    positions = find_static(info, len(args))
    static_names = {*info.static_argnames}
    dynamic: dict[str, Any] = {}
    statics: dict[str, Any] = {}
    for at, (name, value) in enumerate(zip(names, args, strict=True)):
        (statics if at in positions else dynamic)[name] = value
    for name, value in kwargs.items():
        (statics if name in static_names else dynamic)[name] = value
    return _open_equinox(function, dynamic, statics)


def find_static(info: Any, count: int) -> set[int]:
    """Return the positions of the static arguments among `count` positional arguments."""
    # Positions may be negative, and a call may omit the last arguments.
    return {at % count for at in info.static_argnums if -count <= at < count}


def name_positions(signature: inspect.Signature | None, count: int, rest: str = "args") -> list[str]:
    """Return the names of `count` positional arguments in JAX's notation, such as `x` or `args[2]`.

    Args:
        signature: The signature of the function, or None if it is unknown.
        count: The number of arguments.
        rest: The base name of arguments for which the function has no name.
    """
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(signature.parameters.values()) if signature else []
    names = [parameter.name for parameter in parameters if parameter.kind in kinds]
    rest = next((entry.name for entry in parameters if entry.kind == inspect.Parameter.VAR_POSITIONAL), rest)
    return names[:count] + [f"{rest}[{at - len(names)}]" for at in range(len(names), count)]


def _open_equinox(
    function: Callable[..., Any], dynamic: dict[str, Any], statics: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the user's own arguments by name, arrays first and other values second, for `equinox.filter_jit`.

    Equinox stores the values that are not arrays in the leaves of one static argument, with the structure of all.
    For other functions, both dictionaries are returned unchanged.
    """
    inner = open_equinox(function, (None, None, statics.get("static")))
    if inner is None:
        return dynamic, statics
    try:
        arrays = {**dynamic["dynamic_donate"], **dynamic["dynamic_nodonate"]}
        _, first, rest = statics["static"]
        groups = {name: _merge(arrays[name], fixed) for name, fixed in (("first", first), ("rest", rest))}
        parameters = [*inspect.signature(inner).parameters]
        values = [groups["first"], *groups["rest"][0][:-1]]
        names = [*parameters, *(f"argument {at}" for at in range(len(parameters), len(values)))]
        pairs = [*zip(names, values, strict=False), *groups["rest"][1].items()]
    except Exception:  # noqa: BLE001 - another release of Equinox: its own names serve as well
        return dynamic, statics
    opened: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    for name, value in pairs:
        leaves, tree = jax.tree_util.tree_flatten_with_path(value)
        is_array = [hasattr(leaf, "dtype") for _, leaf in leaves]
        opened[name] = jax.tree.unflatten(
            tree, [leaf if is_it else None for is_it, (_, leaf) in zip(is_array, leaves, strict=True)]
        )
        fixed |= {
            name + jax.tree_util.keystr(path): leaf
            for is_it, (path, leaf) in zip(is_array, leaves, strict=True)
            if not is_it
        }
    return opened, fixed


def _merge(arrays: Any, others: Any) -> Any:
    leaves, tree = others
    return jax.tree.unflatten(
        tree, [there if there is not None else other for there, other in zip(arrays, leaves, strict=False)]
    )


def _describe(leaf: Any) -> Leaf:
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None or dtype is None:
        # JAX gives Python numbers a weak type, but not Python booleans.
        weak = type(leaf) in {int, float, complex}
        try:
            kind = _shorten(jax.numpy.result_type(leaf))
        except TypeError:
            kind = type(leaf).__name__
        return Leaf((), kind, weak, "", f"Python {type(leaf).__name__}")
    is_numpy = type(leaf).__module__.partition(".")[0] == "numpy"
    if is_numpy:
        # JAX converts 64-bit values to 32 bits unless x64 mode is on.
        dtype = jax.dtypes.canonicalize_dtype(dtype)
    weak = bool(getattr(leaf, "weak_type", False))
    return Leaf(tuple(shape), _shorten(dtype), weak, _place(leaf), "NumPy" if is_numpy else "")


@functools.cache
def _shorten(dtype: Any) -> str:
    name = str(dtype)
    for long, short in _SHORT.items():
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def _place(leaf: Any) -> str:
    sharding = getattr(leaf, "sharding", None)
    # JAX moves an uncommitted array to any device that needs it, so its device is no difference between calls.
    if sharding is None or not (getattr(leaf, "committed", True)):
        return ""
    return _name_sharding(sharding)


def _name_sharding(sharding: jax.sharding.Sharding) -> str:
    if isinstance(sharding, jax.sharding.NamedSharding):
        axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
        return f"{str(sharding.spec).removeprefix('PartitionSpec')} on {axes}"
    if isinstance(sharding, jax.sharding.SingleDeviceSharding):
        return f"committed to {next(iter(sharding.device_set))}"
    return str(sharding)


def _list_nodes(tree: Any, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a pytree's containers, including None: the path, the type, and by name the fields that are not children."""
    data = tree.node_data()
    if data is None:
        if tree.num_leaves == 0:
            yield path, "None", {}
        return
    kind, extra = data
    children = tree.children()
    fields = getattr(kind, "_fields", None)
    names = [f"[{at}]" for at in range(len(children))]
    if kind is type(None):
        yield path, "None", {}
    elif issubclass(kind, dict):
        # A `defaultdict` node stores its default factory in front of its keys.
        keys = extra[1] if kind is collections.defaultdict else extra
        names = [f"[{key!r}]" for key in keys] if len(keys) == len(names) else names
        # The keys also appear in the children's paths, but their order does not.
        yield path, f"{kind.__name__} {tuple(keys)}" if kind is collections.OrderedDict else kind.__name__, {}
    elif kind in {list, tuple} or fields is not None:
        names = [f".{name}" for name in fields] if fields is not None else names
        yield path, kind.__name__, {}
    else:
        yield path, kind.__name__, _name_held(kind, extra)
        names = _name_children(kind, names)
    for name, child in zip(names, children, strict=False):
        yield from _list_nodes(child, path + name)


def _name_held(kind: type, extra: Any) -> dict[str, Any]:
    """Return the fields of a custom pytree node that are not children, by name, or as one under "" if unnamed."""
    fixed = [field.name for field in _list_fields(kind) if not _is_child(field)]
    # A custom node's auxiliary data has no field names, so they are matched by count.
    parts = extra if isinstance(extra, tuple) else (extra,)
    if len(fixed) == len(parts):
        return dict(zip(fixed, parts, strict=True))
    return {"": extra} if extra is not None and extra != () else {}


def _name_children(kind: type, names: list[str]) -> list[str]:
    fields = [f".{field.name}" for field in _list_fields(kind) if _is_child(field)]
    return fields if len(fields) == len(names) else names


def _list_fields(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _is_child(field: dataclasses.Field[Any]) -> bool:
    # Flax uses the `pytree_node` metadata for this purpose, and JAX and Equinox use `static`.
    return bool(field.metadata.get("pytree_node", True)) and not field.metadata.get("static", False)


def number(function: Callable[..., Any]) -> int:
    """Return a unique number for a function, equal for equal functions and never reused for a later one at its address.

    JAX jits only functions that are hashable and can have weak references.
    """
    return _numbers.setdefault(function, next(_count))
