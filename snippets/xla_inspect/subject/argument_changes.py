"""What can be changed of a program's arguments: donation, batch, element types, how they are stored and sharded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable  # noqa: TC003 - an alias below is made of it
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.subject.subject import Call, Subject

type Changed = tuple[str, Call]
"""What is changed, in words, and the call with the change."""

MATRIX = 2
"""An array of so many dimensions at least can be stored otherwise."""
MOST = 4
"""So many arguments are changed, each alone."""


def list_donations(subject: Subject, call: Call) -> Iterator[Changed]:
    """Yield the donation of the arguments that have the structure, shapes and types of a result."""
    import jax

    if any(name.startswith("donate") for name in call.settings) or hasattr(call.function, "lower"):
        return
    program = subject.program()
    results = Counter((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(program.traced.stage.out_info))
    fitting = []
    for number, argument in enumerate(call.args):
        wanted = Counter((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(argument) if hasattr(leaf, "dtype"))
        if wanted and all(results[kind] >= count for kind, count in wanted.items()):
            results -= wanted
            fitting.append(number)
    if fitting:
        which = f"argument{'s' * (len(fitting) > 1)} {', '.join(map(str, fitting))}"
        yield (
            f"donate {which}",
            replace(call, settings={**call.settings, "donate_argnums": tuple(fitting)}),
        )


def list_donations_undone(call: Call) -> Iterator[Changed]:
    """Yield the call without its donations, where it has some."""
    kept = {name: value for name, value in call.settings.items() if not name.startswith("donate")}
    if len(kept) < len(call.settings):
        yield "donate nothing", replace(call, settings=kept)


def list_batches(call: Call, factors: tuple[float, ...] = (0.5,)) -> Iterator[Changed]:
    """Yield other batches: of the leading dimension that arguments behind the first have in common.

    Args:
        call: The call.
        factors: By how much the batch is multiplied.
    """
    import jax

    behind = jax.tree.leaves(call.args[1:] if len(call.args) > 1 else call.args)
    sizes = Counter(leaf.shape[0] for leaf in behind if getattr(leaf, "shape", ()))
    if not sizes or len(sizes) != 1:
        return
    size = next(iter(sizes))
    for factor in factors:
        wanted = int(size * factor)
        if wanted < 1 or wanted != size * factor:
            continue

        def resize(leaf: Any, wanted: int = wanted) -> Any:
            if not getattr(leaf, "shape", ()) or leaf.shape[0] != size:
                return leaf
            return _describe(leaf, (wanted, *leaf.shape[1:]))

        args = tuple(
            argument if at == 0 and len(call.args) > 1 else jax.tree.map(resize, argument)
            for at, argument in enumerate(call.args)
        )
        yield f"a batch of {wanted} in the place of {size}", replace(call, args=args)


def list_types(call: Call) -> Iterator[Changed]:
    """Yield the arguments of one float type as another: float32 as bfloat16, and the other way round."""
    import jax
    import jax.numpy as jnp

    held = {leaf.dtype for leaf in jax.tree.leaves((call.args, dict(call.kwargs))) if hasattr(leaf, "dtype")}
    for before, after in ((jnp.float32, jnp.bfloat16), (jnp.bfloat16, jnp.float32), (jnp.float16, jnp.float32)):
        if jnp.dtype(before) not in held:
            continue

        def retype(leaf: Any, before: Any = before, after: Any = after) -> Any:
            is_of = getattr(leaf, "dtype", None) == jnp.dtype(before)
            return _describe(leaf, leaf.shape, jnp.dtype(after)) if is_of else leaf

        args, kwargs = jax.tree.map(retype, (call.args, dict(call.kwargs)))
        yield f"{jnp.dtype(before).name} arguments as {jnp.dtype(after).name}", replace(call, args=args, kwargs=kwargs)


def list_layouts(call: Call) -> Iterator[Changed]:
    """Yield arguments, and then the results, stored with their last two dimensions the other way round."""
    import jax

    if call.settings.get("mesh") or _is_spread(call) or any(name.startswith("static") for name in call.settings):
        return
    sizes = [
        max((leaf.size for leaf in jax.tree.leaves(argument) if _is_matrix(leaf)), default=0) for argument in call.args
    ]
    largest = sorted((at for at, size in enumerate(sizes) if size), key=lambda at: -sizes[at])[:MOST]
    for at in largest:
        args = tuple(jax.tree.map(_swap_shape, each) if at == own else each for own, each in enumerate(call.args))
        yield (
            f"argument {at} stored with its last two dimensions swapped",
            _wrap(call, args, _swap_argument(call.function, at)),
        )
    yield "results stored with their last two dimensions swapped", _wrap(call, call.args, _swap_results(call.function))


def _wrap(call: Call, args: tuple[Any, ...], function: Callable[..., Any]) -> Call:
    function.__wrapped__ = call.function  # type: ignore[attr-defined]  # so that its file and name are the reader's
    function.__name__ = getattr(call.function, "__name__", type(call.function).__name__)
    return replace(call, args=args, function=function)


def _swap_argument(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    import jax

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(jax.tree.map(_swap, each) if own == at else each for own, each in enumerate(args)), **kwargs)

    return call


def _swap_results(function: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    def call(*args: Any, **kwargs: Any) -> Any:
        return jax.tree.map(_swap, function(*args, **kwargs))

    return call


def _swap(leaf: Any) -> Any:
    return leaf.swapaxes(-1, -2) if _is_matrix(leaf) else leaf


def _swap_shape(leaf: Any) -> Any:
    return _describe(leaf, (*leaf.shape[:-2], leaf.shape[-1], leaf.shape[-2])) if _is_matrix(leaf) else leaf


def _is_matrix(leaf: Any) -> bool:
    return len(getattr(leaf, "shape", ())) >= MATRIX


def list_shardings(call: Call) -> Iterator[Changed]:
    """Yield the arguments of a mesh each sharded otherwise: whole on each device, or in another dimension."""
    import jax

    mesh, specs = call.settings.get("mesh"), call.settings.get("specs")
    if not mesh or specs is None:
        yield from _list_named(call)
        return
    for at in range(min(len(specs), MOST)):
        leaves = jax.tree.leaves(call.args[at])
        rank = max((len(leaf.shape) for leaf in leaves if hasattr(leaf, "shape")), default=0)
        one = specs[at]
        if not isinstance(one, jax.sharding.PartitionSpec):
            continue
        for other in _list_specs(one, rank, tuple(mesh)):
            changed = tuple(other if own == at else each for own, each in enumerate(specs))
            words = f"argument {at} as {_show(other)} in the place of {_show(one)}"
            yield words, replace(call, settings={**call.settings, "specs": changed})


def _list_named(call: Call) -> Iterator[Changed]:
    """Yield the same where the arguments say themselves how they are sharded."""
    import jax

    for at, argument in enumerate(call.args[:MOST]):
        spread = [
            leaf
            for leaf in jax.tree.leaves(argument)
            if isinstance(getattr(leaf, "sharding", None), jax.sharding.NamedSharding)
        ]
        if not spread:
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

            args = tuple(jax.tree.map(lay, each) if own == at else each for own, each in enumerate(call.args))
            yield f"argument {at} as {_show(other)} in the place of {_show(one)}", replace(call, args=args)


def _list_specs(one: Any, rank: int, axes: tuple[str, ...]) -> Iterator[Any]:
    """Yield other ways to shard: replicated, rotated by a dimension, or over the first axis where it is whole."""
    import jax

    spec = jax.sharding.PartitionSpec
    given = (*one, *([None] * (rank - len(one))))
    if any(given):
        yield spec()
        for by in range(1, rank):
            turned = spec(*given[-by:], *given[:-by])
            if tuple(turned) != given:
                yield turned
    elif rank:
        for at in range(rank):
            yield spec(*([None] * at), axes[0])


def _show(spec: Any) -> str:
    return f"P({', '.join(map(repr, spec))})"


def _is_spread(call: Call) -> bool:
    return call.devices > 1


def _describe(leaf: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    import jax

    return jax.ShapeDtypeStruct(shape, dtype or leaf.dtype, sharding=getattr(leaf, "sharding", None))
