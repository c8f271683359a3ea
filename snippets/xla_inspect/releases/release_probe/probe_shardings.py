"""Partition specs as text, such as `x=P('data', None)`, and the shardings that they give to a call."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from itertools import count
from typing import Any

_KEYS = re.compile(r"[^\[\]'\". ]+")


class SpecError(ValueError):
    """An error in a partition spec."""


def shard_call(call: Any, jitted: Any, texts: Any, mesh: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return a call's sharded arguments, and the options of `jax.jit` for sharded results.

    The texts are those of `--in-spec` and of `--out-spec`, and the mesh may be abstract.

    Raises:
        SpecError: A spec has another form, does not fit the mesh or any array, or does not divide an array.
    """
    names: list[str] = []
    # Built-in functions have no signature.
    with suppress(TypeError, ValueError):
        parameters = inspect.signature(call.function).parameters.values()
        names = [one.name for one in parameters if one.kind <= one.POSITIONAL_OR_KEYWORD][: len(call.args)]
    names += map(str, range(len(names), len(call.args)))
    values = {**dict(zip(names, call.args)), **call.kwargs}  # noqa: B905 - Python 3.9 has no `strict`
    values = _shard("--in-spec", texts[0], values, mesh)
    args, kwargs = tuple(values[name] for name in names), {name: values[name] for name in call.kwargs}
    if not texts[1]:
        return args, kwargs, {}
    if hasattr(call.function, "lower"):
        message = (
            f"--out-spec {texts[1][0]} has no effect on a function that is jitted already; pass the plain function"
        )
        raise SpecError(message)
    results = jitted.eval_shape(*args, **kwargs)
    is_tuple = type(results) is tuple
    parts = {str(at): part for at, part in enumerate(results if is_tuple else [results])}
    shardings = _shard("--out-spec", texts[1], parts, mesh)
    return args, kwargs, {"out_shardings": tuple(shardings[at] for at in parts) if is_tuple else shardings["0"]}


def _shard(option: str, texts: Any, values: dict[str, Any], mesh: Any) -> Any:
    """Return a pytree with the arguments, some with shardings, or with the shardings of results, None for others."""
    import jax

    flat, tree = jax.tree_util.tree_flatten_with_path([*values.values()])
    paths = [_KEYS.findall(jax.tree_util.keystr(path)) for path, _ in flat]
    names = [".".join([[*values][int(path[0])], *path[1:]]) for path in paths]
    is_input, leaves = option == "--in-spec", [leaf for _, leaf in flat]
    chosen = leaves[:] if is_input else [None] * len(leaves)
    arrays = {at: name for at, name in enumerate(names) if hasattr(leaves[at], "shape")}
    # The longest path is the most specific one, so it comes last.
    for text, path, spec in sorted(_read_specs(option, texts, [*values]), key=lambda read: len(read[1])):
        matches = [at for at, name in arrays.items() if f"{name}.".startswith(path and f"{path}.")]
        fitting = [at for at in matches if len(leaves[at].shape) >= len(spec)]
        near = [name for name in arrays.values() if name.partition(".")[0] == path.partition(".")[0]]
        fault = f"shards no array: there is no {path!r}, only {', '.join(near or arrays.values())}"
        fault = f"has more entries than {names[matches[0]]} has dimensions" if matches else fault
        fault = "needs a mesh; pass --mesh too, such as --mesh data=4" if mesh.empty else fault
        if mesh.empty or not fitting:
            raise SpecError(text + fault)
        for at in fitting:
            try:
                sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
                sharding.shard_shape(leaves[at].shape)
            except Exception as error:
                fault = f"is refused by JAX for {'' if is_input else 'result '}{names[at]}: {error}"
                raise SpecError(text + fault) from error
            sharded = jax.ShapeDtypeStruct(leaves[at].shape, leaves[at].dtype, sharding=sharding)
            chosen[at] = sharded if is_input else sharding
    return dict(zip(values, jax.tree_util.tree_unflatten(tree, chosen)))  # noqa: B905 - as above


def _read_specs(option: str, texts: Any, names: Any) -> Any:
    """Yield each spec in the texts: the option with its text, the path of its arrays, and its entries."""
    unnamed = count()
    for text in texts:
        path, equals, value = text.partition("=")
        keys = _KEYS.findall(path) if equals else []
        try:
            node: Any = ast.parse((value if equals else text).strip(), mode="eval").body
            calls: Any = node.elts if isinstance(node, ast.Tuple) and not keys else [node]
            words = {word for call in calls for word in (ast.unparse(call.func).rpartition(".")[2], *call.keywords)}
            specs = [[_read_entry(part) for part in call.args] for call in calls if words <= {"P", "PartitionSpec"}]
        except (AttributeError, SyntaxError, ValueError, RecursionError, MemoryError):
            specs = []
        if not specs:
            message = f"{option} {text} is no spec; write one such as x=P('data', None) or 0=P('data', None)"
            raise SpecError(message)
        for spec in specs:
            # A single spec without a name applies to all results.
            first = keys[0] if keys else "" if option == "--out-spec" and len(specs) == 1 else str(next(unnamed))
            first = names[int(first)] if first.isdecimal() and int(first) < len(names) else first
            yield f"{option} {text} ", ".".join([first, *keys[1:]]), spec


def _read_entry(part: Any) -> Any:
    """Return an axis, several or None, of which each name may lack its quotes."""
    if isinstance(part, ast.Tuple):
        return tuple(map(_read_entry, part.elts))
    return part.id if isinstance(part, ast.Name) else ast.literal_eval(part)
