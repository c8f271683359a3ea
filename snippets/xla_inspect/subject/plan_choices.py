"""The choices of a plan for a training step: mesh, specs, checkpoints, microbatches, donation, and own parameters."""

from __future__ import annotations

import inspect
import math
import re
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from xla_inspect.subject import argument_changes, traced_changes
from xla_inspect.subject.call_signature import name_positions
from xla_inspect.subject.trials import Trial, list_trials, renew
from xla_inspect.targets import count_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.subject.subject import Call, Subject

UNCHANGED = "as written"
"""The words of the choice that changes nothing."""

POLICIES: Mapping[str, tuple[float, float]] = {
    "nothing_saveable": (-1.0, 0.2),
    "dots_with_no_batch_dims_saveable": (-0.5, 0.05),
    "offload_dot_with_no_batch_dims": (-0.9, 0.3),
    "everything_saveable": (0.7, -0.2),
}
"""The policies of `jax.checkpoint` to try, each with the expected change of the logarithms of memory and time."""

PARTS = (2, 4, 8)
"""The numbers of microbatches to try."""

COUNTS = (1, 2, 4, 8, 16)
"""The values to try for a parameter whose name matches `COUNTED`."""

SMALL = 0.05
"""An argument with a smaller share of the bytes is not copied to more devices, since that saves no communication."""

COUNTED = re.compile(r"chunk|microbatch|accumulat")
"""The pattern of names of parameters that divide the work into parts."""


@dataclass(frozen=True)
class Choice:
    """One option of one kind of change, such as one of several meshes.

    Attributes:
        words: The change in words.
        option: The option of the tool that makes the change, or an empty string if it needs an edit of the code.
        code: The edit of the code, as an imperative, if there is no option.
        axis: The mesh axis that the choice is about, or an empty string. If its size is 1, the choice changes nothing.
        edit: A function that returns the changed call.
        applied: A function that returns a context manager to enter while the program is traced.
        place: The coordinates of a mesh. Meshes with a small distance are expected to have similar times and memory.
        expected: The expected change of the logarithms of the memory of temporaries and of the time.
    """

    words: str = UNCHANGED
    option: str = ""
    code: str = ""
    axis: str = ""
    edit: Callable[[Call], Call] = lambda call: call
    applied: Callable[[], AbstractContextManager[object]] = nullcontext
    place: tuple[float, ...] = ()
    expected: tuple[float, float] = (0.0, 0.0)


def list_axes(call: Call) -> tuple[str, ...]:
    """Return the names of a call's mesh axes: those of its mesh, or else those in the specs of its arguments."""
    import jax

    if mesh := call.settings.get("mesh"):
        return tuple(mesh)
    specs = jax.tree.leaves(
        call.settings.get("specs"), is_leaf=lambda leaf: isinstance(leaf, jax.sharding.PartitionSpec)
    )
    meshes = [leaf.sharding.mesh for leaf in _list_sharded(call)]
    names = [name for mesh in meshes for name in mesh.axis_names] or [name for spec in specs for name in _flatten(spec)]
    return tuple(dict.fromkeys(names))


def list_choices(
    subject: Subject, target: str, kinds: Sequence[str], capture: Capture, own: Mapping[str, Sequence[Any]]
) -> dict[str, list[Choice]]:
    """Return the choices of each kind that a program has, the unchanged program first.

    Args:
        subject: The program.
        target: The target with its grid.
        kinds: The kinds of changes to list.
        capture: The program's capture, which may be one of a failed compilation.
        own: Values to try for parameters of the program, by name.
    """
    call = subject.call
    if call is None:
        return {}
    # The other kinds need the shardings of the arguments, which need a mesh.
    meshes = list_meshes(subject, target)
    placed = meshes[0].edit(call) if meshes else call.place_specs()
    listed: Mapping[str, Callable[[], Iterable[Choice]]] = {
        "specs": lambda: _list_specs(placed),
        "remat": lambda: _list_policies(subject, capture, target),
        "microbatch": lambda: [
            Choice(
                f"{parts} microbatches",
                code=f"average the gradients of {parts} parts of the batch in a jax.lax.scan",
                applied=partial(traced_changes.accumulate, parts),
                expected=(-0.5 * math.log2(parts), 0.03 * math.log2(parts)),
            )
            for parts in PARTS
        ],
        "donate": lambda: _list_donations(subject, placed),
    }
    choices = {"mesh": meshes if "mesh" in kinds else meshes[:1]}
    for kind in filter(kinds.__contains__, listed):
        choices[kind] = [Choice(), *listed[kind]()]
    for name, values in {**(_list_counted(call) if "parameter" in kinds else {}), **own}.items():
        code = f"call the function with {name}="
        edits = [
            Choice(f"{name}={value!r}", code=f"{code}{value!r}", edit=partial(_set_parameter, name=name, value=value))
            for value in values
        ]
        # A parameter may have the name of a kind of change.
        choices[f"parameter {name}" if name in choices else name] = [Choice(), *edits]
    return {kind: several for kind, several in choices.items() if several}


def make_trial(subject: Subject, chosen: Sequence[Choice]) -> Trial:
    """Return the trial of a program with some choices, at most one of each kind.

    Raises:
        InspectError: A choice does not fit the program.
    """
    call = subject.call
    for choice in chosen:
        call = choice.edit(call) if call else None

    @contextmanager
    def apply() -> Iterator[None]:
        with ExitStack() as entered:
            for choice in reversed(chosen):
                entered.enter_context(choice.applied())
            yield

    words = "; ".join(choice.words for choice in chosen if choice.words != UNCHANGED) or UNCHANGED
    return Trial(words, renew(subject, call), apply)


def count_bytes(call: Call) -> int:
    """Return the bytes of a call's arguments on one device.

    Raises:
        ValueError: A dimension cannot be divided by its mesh axes.
    """
    import jax

    total = 0
    for leaf in jax.tree.leaves((call.args, dict(call.kwargs))):
        shape, sharding = getattr(leaf, "shape", ()), getattr(leaf, "sharding", None)
        own = sharding.shard_shape(shape) if isinstance(sharding, jax.sharding.NamedSharding) else shape
        total += math.prod(own) * int(getattr(getattr(leaf, "dtype", None), "itemsize", 0))
    return total


def list_meshes(subject: Subject, target: str) -> list[Choice]:
    """Return the meshes of a target's devices: the program's own, and then all others with the same axes."""
    call = subject.call
    axes = list_axes(call) if call else ()
    if call is None or not axes:
        return []
    own = tuple((call.settings.get("mesh") or {}).values())
    sizes = [own] * bool(own) + [one for one in _factor(count_devices(target), len(axes)) if one != own]
    meshes = [dict(zip(axes, one, strict=True)) for one in sizes]
    texts = [",".join(f"{name}={size}" for name, size in mesh.items()) for mesh in meshes]
    return [
        Choice(
            UNCHANGED if tuple(mesh.values()) == own else f"mesh {text}",
            f"--mesh={text}",
            edit=partial(_move, mesh=mesh),
            place=tuple(map(math.log2, mesh.values())),
        )
        for mesh, text in zip(meshes, texts, strict=True)
    ]


def _factor(number: int, count: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (number,)
        return
    for first in range(number, 0, -1):
        if number % first == 0:
            for rest in _factor(number // first, count - 1):
                yield (first, *rest)


def _move(call: Call, mesh: Mapping[str, int]) -> Call:
    """Return a call on another mesh, with the specs of its arguments."""
    moved = _update_settings(call, mesh=dict(mesh))
    if "specs" in call.settings:
        return moved.place_specs()
    return _respec(moved, lambda _, spec: spec)


def _update_settings(call: Call, **settings: Any) -> Call:
    return replace(call, settings={**call.settings, **settings})


def _respec(call: Call, change: Callable[[int, Any], Any]) -> Call:
    """Return a call whose arguments have other specs on the call's mesh."""
    import jax

    def place(leaf: Any, at: int) -> Any:
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(sharding, jax.sharding.NamedSharding):
            return leaf
        other = jax.sharding.NamedSharding(call.mesh, change(at, sharding.spec))
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=other)

    args = tuple(jax.tree.map(partial(place, at=at), value) for at, value in enumerate(call.args))
    return replace(call, args=args)


def _list_specs(call: Call) -> Iterator[Choice]:
    """Yield for each large argument the specs without one of their axes."""
    for at, argument in enumerate(call.args):
        own = replace(call, args=(argument,), kwargs={})
        # A small argument, such as a batch of tokens, costs next to nothing where it is sharded.
        if count_bytes(own) < SMALL * count_bytes(call):
            continue
        specs = {leaf.sharding.spec for leaf in _list_sharded(own)}
        for axis in dict.fromkeys(name for spec in sorted(specs, key=str) for name in _flatten(spec)):
            yield Choice(
                f"argument {at} not sharded over {axis!r}",
                code=f"remove {axis!r} from the specs of argument {at}",
                axis=axis,
                edit=partial(_drop, at=at, axis=axis),
                expected=(0.2, 0.1),
            )


def _drop(call: Call, at: int, axis: str) -> Call:
    import jax

    def keep(names: Any) -> tuple[str, ...]:
        return tuple(name for name in _flatten((names,)) if name != axis)

    return _respec(call, lambda own, spec: jax.sharding.PartitionSpec(*map(keep, spec)) if own == at else spec)


def _list_policies(subject: Subject, capture: Capture, target: str) -> Iterator[Choice]:
    """Yield policies for a program's checkpoints, or else for its scans, or else for the functions that save most."""
    has_own = re.search(r"\b(?:remat\d?|checkpoint)\[", capture.jaxpr)
    if not has_own and "scan" not in capture.jaxpr:
        for trial in list_trials(subject, ("remat",), capture):
            yield Choice(
                trial.change, code=f"put {trial.change}", applied=trial.applied, expected=POLICIES["nothing_saveable"]
            )
        return
    change: Callable[[str], AbstractContextManager[None]]
    change, place = (
        (traced_changes.set_policy, "give each jax.checkpoint the")
        if has_own
        else (traced_changes.checkpoint_scans, "put jax.checkpoint around the body of each jax.lax.scan, with the")
    )
    for policy, expected in POLICIES.items():
        # Without checkpoints, everything is saved already. A CPU has no other memory than that of the host.
        if (has_own or policy != "everything_saveable") and not (policy.startswith("offload") and target[:3] == "cpu"):
            yield Choice(
                f"remat {policy}",
                code=f"{place} policy {policy}",
                applied=partial(change, policy),
                expected=expected,
            )


def _list_donations(subject: Subject, placed: Call) -> Iterator[Choice]:
    for words, changed in argument_changes.list_donations(subject, placed, undone=False):
        numbers = changed.settings["donate_argnums"]
        option = " ".join(f"--donate={number}" for number in numbers)
        yield Choice(words, option, edit=partial(_update_settings, donate_argnums=numbers), expected=(-0.3, -0.02))


def _list_counted(call: Call) -> dict[str, Sequence[int]]:
    """Return values for the parameters with a number that cuts work into parts, by their names."""
    try:
        bound = inspect.signature(call.function).bind(*call.args, **call.kwargs)
    except (TypeError, ValueError):
        return {}
    bound.apply_defaults()
    return {
        name: [count for count in COUNTS if count != value]
        for name, value in {**bound.arguments, **call.kwargs}.items()
        if COUNTED.search(name) and type(value) is int
    }


def _set_parameter(call: Call, name: str, value: Any) -> Call:
    """Return a call with another value of a parameter, which the function gets as a constant."""
    names = name_positions(inspect.signature(call.function), len(call.args))
    if name in names:
        at = names.index(name)
        return replace(call, args=(*call.args[:at], value, *call.args[at + 1 :]))
    kwargs = {own: old for own, old in call.kwargs.items() if own != name}
    return replace(call, function=partial(call.function, **{name: value}), kwargs=kwargs)


def _list_sharded(call: Call) -> list[Any]:
    import jax

    leaves = jax.tree.leaves((call.args, dict(call.kwargs)))
    return [leaf for leaf in leaves if isinstance(getattr(leaf, "sharding", None), jax.sharding.NamedSharding)]


def _flatten(spec: Any) -> Iterator[str]:
    for names in spec or ():
        yield from names if isinstance(names, tuple) else (names,) if isinstance(names, str) else ()
