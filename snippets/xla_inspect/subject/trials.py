"""Changes of a program that may save memory, made while it is traced and without a change of its code."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame
    from xla_inspect.subject.subject import Call

KINDS = ("donate", "remat", "batch")
"""The kinds of changes that can be tried."""


@dataclass(frozen=True)
class Trial:
    """A change that can be tried.

    Attributes:
        change: What is changed, in words.
        subject: The program with the change.
        applied: What has to surround its tracing.
    """

    change: str
    subject: Subject
    applied: Callable[[], AbstractContextManager[object]]


def list_trials(subject: Subject, kinds: Iterable[str], capture: Capture) -> Iterator[Trial]:
    """Yield the changes that a program offers.

    Args:
        subject: The program.
        kinds: Which to list, of `KINDS`.
        capture: What it was compiled to: where memory is saved for the backward pass says which functions to try.
    """
    if subject.call is None:
        return
    if "donate" in kinds:
        yield from _list_donations(subject, subject.call)
    if "remat" in kinds:
        yield from _list_remats(subject, capture)
    if "batch" in kinds:
        yield from _list_batches(subject, subject.call)


def _list_donations(subject: Subject, call: Call) -> Iterator[Trial]:
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
        changed = replace(call, settings={**call.settings, "donate_argnums": tuple(fitting)})
        yield Trial(f"donate {which}", Subject(subject.name, changed), _nothing)


def _list_remats(subject: Subject, capture: Capture) -> Iterator[Trial]:
    """Yield jax.checkpoint around the body of each scan, and around each function in which much is saved."""
    if subject.call is None:
        return
    if "scan" in capture.jaxpr:
        yield Trial("jax.checkpoint around the body of each jax.lax.scan", _anew(subject), _checkpoint_scans)
    seen: set[str] = set()
    for frames in _list_chains(capture):
        for frame in frames:
            name = frame.function.rpartition(".")[2]
            found = _find_function(name, frame)
            if found is None or name in seen or found is inspect.unwrap(subject.call.function):
                continue
            seen.add(name)
            yield Trial(
                f"jax.checkpoint around {name} ({frame.file.rpartition('/')[2]})", _anew(subject), _checkpoint(found)
            )
            if len(seen) == MOST:
                return


MOST = 3
"""So many functions are tried."""


def _list_chains(capture: Capture) -> Iterator[tuple[Frame, ...]]:
    """Yield the call chains, in the reader's files, of what is saved for the backward pass, the largest first."""
    from xla_inspect.analysis import list_held

    for held in list_held(capture):
        if held.role == "saved" and held.maker is not None:
            chain = capture.frames.get(held.maker.instruction.stack_frame or 0, ())
            yield tuple(frame for frame in chain if frame.file in capture.sources)


def _find_function(name: str, frame: Frame) -> Any:
    """Return the function of a module that is loaded whose code a frame is in, or None where it is no module's own."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and f"/{Path(file).as_posix()}".endswith(f"/{frame.file}"):
            found = vars(module).get(name)
            if inspect.isfunction(found):
                return found
    return None


def _list_batches(subject: Subject, call: Call) -> Iterator[Trial]:
    """Yield half of the batch: of the leading dimension that arguments behind the first have in common."""
    import jax

    behind = jax.tree.leaves(call.args[1:] if len(call.args) > 1 else call.args)
    sizes = Counter(leaf.shape[0] for leaf in behind if getattr(leaf, "shape", ()))
    if not sizes or len(sizes) != 1:
        return
    size = next(iter(sizes))
    if size < 2 or size % 2:  # noqa: PLR2004 - half of it
        return

    def halve(leaf: Any) -> Any:
        if not getattr(leaf, "shape", ()) or leaf.shape[0] != size:
            return leaf
        return jax.ShapeDtypeStruct((size // 2, *leaf.shape[1:]), leaf.dtype, sharding=getattr(leaf, "sharding", None))

    args = tuple(
        argument if at == 0 and len(call.args) > 1 else jax.tree.map(halve, argument)
        for at, argument in enumerate(call.args)
    )
    yield Trial(
        f"a batch of {size // 2} in the place of {size}", Subject(subject.name, replace(call, args=args)), _nothing
    )


def _anew(subject: Subject) -> Subject:
    return Subject(subject.name, subject.call)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _checkpoint_scans() -> Iterator[None]:
    """Let each scan that is traced compute its body again in the backward pass."""
    import jax

    scan = jax.lax.scan

    @wraps(scan)
    def checkpointed(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return scan(jax.checkpoint(f, policy=jax.checkpoint_policies.nothing_saveable), *args, **kwargs)

    jax.lax.scan = checkpointed
    try:
        yield
    finally:
        jax.lax.scan = scan


def _checkpoint(function: Any) -> Callable[[], AbstractContextManager[None]]:
    """Return what lets a function of the reader's compute its values again in the backward pass."""

    @contextmanager
    def apply() -> Iterator[None]:
        import jax

        def again(*args: Any, **kwargs: Any) -> Any:
            leaves, tree = jax.tree.flatten((args, kwargs))
            is_array = [hasattr(leaf, "dtype") for leaf in leaves]

            def call(arrays: list[Any]) -> Any:
                given = iter(arrays)
                whole = [next(given) if it else leaf for leaf, it in zip(leaves, is_array, strict=True)]
                inner, named = jax.tree.unflatten(tree, whole)
                return function(*inner, **named)

            arrays = [leaf for leaf, it in zip(leaves, is_array, strict=True) if it]
            return jax.checkpoint(call, policy=jax.checkpoint_policies.nothing_saveable)(arrays)

        holders = [
            (module, name)
            for module in list(sys.modules.values())
            if getattr(module, "__file__", None)
            for name, value in list(vars(module).items())
            if value is function
        ]
        for module, name in holders:
            setattr(module, name, again)
        try:
            yield
        finally:
            for module, name in holders:
                setattr(module, name, function)

    return apply
