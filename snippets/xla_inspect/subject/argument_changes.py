"""Possible changes to a program's arguments: donation, batch size, element types, layouts and shardings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xla_inspect.subject.subject import Call, Subject

type Changed = tuple[str, Call]
"""A description of a change, and the call with the change."""

MATRIX = 2
"""The lowest rank of arrays for which another layout is tried."""
SMALL = (1, 8)
"""Batch sizes that are small enough to change the compiler's decisions."""

MOST = 4
"""The maximum number of arguments to change, one at a time."""


def list_donations(subject: Subject, call: Call, *, undone: bool) -> Iterator[Changed]:
    """Yield a description and one call in which all arguments are donated that match results in shape and type.

    Args:
        subject: The program.
        call: Its call.
        undone: Whether to also yield a donating call without its donations. No other donations are tried for a
            donating call or a jitted function.
    """
    import jax

    undonated = {name: value for name, value in call.settings.items() if not name.startswith("donate")}
    if undone and len(undonated) < len(call.settings):
        yield "donate nothing", replace(call, settings=undonated)
    # A function that is already jitted accepts no further options of `jax.jit`.
    if len(undonated) < len(call.settings) or hasattr(call.function, "lower"):
        return
    outputs = _find_results(call) if call.settings.get("mesh") else subject.program().traced.stage.out_info
    results = Counter((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(outputs))
    fitting = []
    for number, argument in enumerate(call.args):
        kinds = Counter((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(argument) if hasattr(leaf, "dtype"))
        if kinds and all(results[kind] >= count for kind, count in kinds.items()):
            # Each result can reuse the memory of only one argument.
            results -= kinds
            fitting.append(number)
    if fitting:
        which = f"argument{'s' * (len(fitting) > 1)} {', '.join(map(str, fitting))}"
        yield f"donate {which}", replace(call, settings={**call.settings, "donate_argnums": tuple(fitting)})


def _find_results(call: Call) -> Any:
    """Return a call's results as a pytree of shapes, from `jax.eval_shape` under the call's mesh if it has one."""
    import jax

    if not call.settings.get("mesh"):
        return jax.eval_shape(call.function, *call.args, **call.kwargs)
    with jax.sharding.use_abstract_mesh(call.mesh):
        return jax.eval_shape(call.function, *call.args, **call.kwargs)


def list_batches(call: Call) -> Iterator[Changed]:
    """Yield a description and the call with half the batch: the leading size of all but the first argument, if even."""
    batched = {*range(len(call.args))} - ({0} if len(call.args) > 1 else set())
    size = _find_common([call.args[at] for at in sorted(batched)])
    for smaller in _resize(size, (0.5,)):
        yield _batch(call, batched, size, smaller)


def list_sizes(call: Call, factors: tuple[float, ...]) -> Iterator[Changed]:
    """Yield a description and the call for each other batch size with which the program can still be traced.

    The batch is the leading dimension of all arguments, of those after the first, or of the first alone.

    Args:
        call: The call; one with static arguments yields nothing.
        factors: Factors to multiply the batch by; batches of one and of eight come first.
    """
    import jax

    numbers = range(len(call.args))
    choices = [{*numbers}, {*numbers} - {0}, {0}]
    # Float arrays with a single dimension are parameters more often than data.
    choices.sort(key=lambda chosen: not any(_is_data(leaf) for at in chosen for leaf in jax.tree.leaves(call.args[at])))
    for chosen in choices:
        size = _find_common([call.args[at] for at in sorted(chosen)])
        # The shapes are checked with `jax.eval_shape`, which would trace static arguments too.
        if not size or _has_static(call):
            continue
        changes = []
        for batch in dict.fromkeys((*SMALL, *_resize(size, factors))):
            change = _batch(call, chosen, size, batch)
            if batch != size and _fits(change[1]):
                changes.append(change)
        if changes:
            yield from changes
            return


def _is_data(leaf: Any) -> bool:
    import jax.numpy as jnp

    return _is_matrix(leaf) or (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.integer))


def _fits(call: Call) -> bool:
    """Return whether a call's function can be traced with the call's shapes; any exception counts as no."""
    try:
        _find_results(call)
    except Exception:  # noqa: BLE001 - the program's own
        return False
    return True


def _find_common(arguments: Any) -> int:
    import jax

    sizes = {leaf.shape[0] for leaf in jax.tree.leaves(arguments) if getattr(leaf, "shape", ())}
    return int(next(iter(sizes))) if len(sizes) == 1 else 0


def _resize(size: int, factors: tuple[float, ...]) -> Iterator[int]:
    for factor in factors:
        resized = int(size * factor)
        if resized >= 1 and resized == size * factor:
            yield resized


def _batch(call: Call, chosen: Collection[int], size: int, batch: int) -> Changed:
    """Return a description, and the call with `batch` for each leading dimension `size` in the chosen arguments."""
    import jax

    def resize(leaf: Any) -> Any:
        shape = getattr(leaf, "shape", ())
        return _describe(leaf, (batch, *shape[1:])) if shape and shape[0] == size else leaf

    args = tuple(jax.tree.map(resize, argument) if at in chosen else argument for at, argument in enumerate(call.args))
    return f"a batch of {batch} in the place of {size}", replace(call, args=args)


def list_types(call: Call) -> Iterator[Changed]:
    """Yield a description and the call with all float32 arguments as bfloat16, or bfloat16 or float16 as float32."""
    import jax
    import jax.numpy as jnp

    dtypes = {leaf.dtype for leaf in jax.tree.leaves((call.args, dict(call.kwargs))) if hasattr(leaf, "dtype")}
    for before, after in ((jnp.float32, jnp.bfloat16), (jnp.bfloat16, jnp.float32), (jnp.float16, jnp.float32)):
        if jnp.dtype(before) not in dtypes:
            continue

        def retype(leaf: Any, before: Any = before, after: Any = after) -> Any:
            is_of = getattr(leaf, "dtype", None) == jnp.dtype(before)
            return _describe(leaf, leaf.shape, jnp.dtype(after)) if is_of else leaf

        args, kwargs = jax.tree.map(retype, (call.args, dict(call.kwargs)))
        yield f"{jnp.dtype(before).name} arguments as {jnp.dtype(after).name}", replace(call, args=args, kwargs=kwargs)


def list_layouts(call: Call, orders: Mapping[int, Collection[tuple[int, ...]]] | None = None) -> Iterator[Changed]:
    """Yield a description and the call with two adjacent dimensions swapped in the layout of an argument or the result.

    Args:
        call: The call; one with several devices, keyword arguments or a jitted function yields nothing.
        orders: Dimension orders to try first, by the number of an argument, most major dimension first.
    """
    if call.devices > 1 or call.kwargs or hasattr(call.function, "lower"):
        return
    matrices = [at for at, argument in enumerate(call.args) if _is_matrix(argument)]
    largest = sorted(matrices, key=lambda at: -call.args[at].size)[:MOST]
    for at in largest:
        rank = len(call.args[at].shape)
        for order in dict.fromkeys((*(orders or {}).get(at, ()), *_list_orders(rank))):
            # The default order would compile the unchanged program.
            if len(order) != rank or order == tuple(range(rank)):
                continue
            formats = tuple(_lay(order) if own == at else None for own in range(len(call.args)))
            words = f"argument {at} laid out as {_show_layout(order)}"
            yield words, _jit(call, in_shardings=formats)
    result = _find_results(call) if not _has_static(call) else None
    if result is not None and _is_matrix(result):
        for order in _list_orders(len(result.shape)):
            words = f"the result laid out as {_show_layout(order)}"
            yield words, _jit(call, out_shardings=_lay(order))


def _list_orders(rank: int) -> Iterator[tuple[int, ...]]:
    for at in reversed(range(rank - 1)):
        yield (*range(at), at + 1, at, *range(at + 2, rank))


def _show_layout(order: tuple[int, ...]) -> str:
    """Return an order of dimensions, most major first, in XLA's notation for layouts, most minor first."""
    return "{" + ",".join(map(str, reversed(order))) + "}"


def _lay(order: tuple[int, ...]) -> Any:
    import jax
    from jax.experimental.layout import Format, Layout

    return Format(Layout(order), jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0]))


def _jit(call: Call, **shardings: Any) -> Call:
    import jax

    # The jitted function has the settings now, and a capture rejects them a second time.
    return replace(call, function=jax.jit(call.function, **shardings, **call.settings), settings={})


def _has_static(call: Call) -> bool:
    return any(name.startswith("static") for name in call.settings)


def _is_matrix(leaf: Any) -> bool:
    return len(getattr(leaf, "shape", ())) >= MATRIX


def list_shardings(call: Call) -> Iterator[Changed]:
    """Yield a description and the call with one argument replicated or sharded over another dimension of its own."""
    import jax

    call = call.place_specs()
    for at, argument in enumerate(call.args[:MOST]):
        spread = [
            leaf
            for leaf in jax.tree.leaves(argument)
            if isinstance(getattr(leaf, "sharding", None), jax.sharding.NamedSharding)
        ]
        # Of arrays with several specs, no single other spec can take the place.
        if len({leaf.sharding.spec for leaf in spread}) != 1:
            continue
        one, mesh = spread[0].sharding.spec, spread[0].sharding.mesh
        rank = max(len(leaf.shape) for leaf in spread)
        for other in _list_specs(one, rank, tuple(mesh.axis_names)):

            def lay(leaf: Any, other: Any = other) -> Any:
                sharding = getattr(leaf, "sharding", None)
                if not isinstance(sharding, jax.sharding.NamedSharding):
                    return leaf
                return jax.ShapeDtypeStruct(
                    leaf.shape, leaf.dtype, sharding=jax.sharding.NamedSharding(sharding.mesh, other)
                )

            args = tuple(jax.tree.map(lay, value) if own == at else value for own, value in enumerate(call.args))
            yield f"argument {at} as {_show(other)} in the place of {_show(one)}", replace(call, args=args)


def _list_specs(one: Any, rank: int, axes: tuple[str, ...]) -> Iterator[Any]:
    """Yield alternatives to a spec: `P()` and rotations; or for `P()`, the first mesh axis on each dimension alone."""
    import jax

    spec: Any = jax.sharding.PartitionSpec
    padded = (*one, *([None] * (rank - len(one))))
    if any(padded):
        yield spec()
        for by in range(1, rank):
            turned = spec(*padded[-by:], *padded[:-by])
            if tuple(turned) != padded:
                yield turned
    elif rank:
        for at in range(rank):
            yield spec(*([None] * at), axes[0])


def _show(spec: Any) -> str:
    return f"P({', '.join(map(repr, spec))})"


def _describe(leaf: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    import jax

    return jax.ShapeDtypeStruct(shape, dtype or leaf.dtype, sharding=getattr(leaf, "sharding", None))
