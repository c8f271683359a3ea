"""The properties by which JAX distinguishes calls of a jitted function, and the differences between two calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

type Kind = Literal[
    "shape",
    "dtype",
    "weak type",
    "PRNG key",
    "static value",
    "static object",
    "structure",
    "sharding",
    "keyword",
    "new function",
    "jit options",
    "setting of JAX",
    "dropped",
]
"""The kind of a difference between two calls; `dropped` means no difference: JAX's cache had evicted the first call."""

_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+")
_ROOT = re.compile(r"[^.\[]+")
_SHOWN = 60
_X64 = "enable_x64"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array argument of a call.

    Attributes:
        shape: The dimensions.
        dtype: The short name of the type, such as `f32`.
        weak: Whether the type is weak: it yields to the type of another operand, like that of a Python number.
        sharding: The sharding over its devices; an empty string for a whole array on the default device.
        origin: The original type if it was not a JAX array, such as `Python float`.
    """

    shape: tuple[int, ...]
    dtype: str
    weak: bool = False
    sharding: str = ""
    origin: str = ""

    def __str__(self) -> str:
        """Return the type and shape as text, such as `f32[8,3]`, with the origin or `weak`."""
        text = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        return f"{text} ({self.origin})" if self.origin else f"weak {text}" if self.weak else text


@dataclass(frozen=True, slots=True)
class Value:
    """A leaf that is not an array: a static argument, or the data of a pytree node.

    Attributes:
        text: The `repr` of the value, without addresses.
        key: The hash of the value, or 0 if it is not hashable.
    """

    text: str
    key: int = 0

    @classmethod
    def of(cls, value: object) -> Value:
        """Return the `Value` of any object, even if its `repr` or `hash` raises."""
        try:
            # Objects that otherwise look the same differ in their addresses.
            text = _ADDRESS.sub("", repr(value))
        except Exception:  # noqa: BLE001 - a user's class may raise anything
            text = type(value).__name__
        try:
            return cls(text, hash(value))
        except Exception:  # noqa: BLE001 - a user's class may raise anything here too
            return cls(text)


@dataclass(frozen=True)
class Signature:
    """One call of a jitted function: its arguments, and the options and settings that JAX also compares.

    Attributes:
        leaves: The arrays by path, such as `batch['image']`.
        nodes: The pytree containers by path: the type of each, and its data other than arrays.
        statics: The static arguments by name.
        keywords: The names of the arguments that were passed by keyword.
        function: The number of the function object, for functions that are created again for each call.
        options: The options of `jax.jit`, by name.
        settings: The settings of JAX that affect tracing, including the mesh.
    """

    leaves: Mapping[str, Leaf]
    nodes: Mapping[str, Value] = field(default_factory=dict)
    statics: Mapping[str, Value] = field(default_factory=dict)
    keywords: frozenset[str] = frozenset()
    function: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def parts(self) -> frozenset[int]:
        """The hashes of all parts, except the function, which does not help to find similar calls."""
        contents = (self.leaves, self.nodes, self.statics, self.options, self.settings)
        parts = (hash((at, item)) for at, entry in enumerate(contents) for item in entry.items())
        return frozenset((*parts, *map(hash, self.keywords)))


@dataclass(frozen=True)
class Difference:
    """A difference between two calls.

    Attributes:
        kind: The kind of the difference.
        argument: The path of the argument, or the name of the option or setting; empty for the function itself.
        before: The value in the earlier call.
        after: The value in the later call.
        more: The number of other parts of the same argument with the same difference.
    """

    kind: Kind
    argument: str
    before: str
    after: str
    more: int = 0


def find_nearest(earlier: Sequence[Signature], later: Signature) -> tuple[int, tuple[Difference, ...]]:
    """Return the position of the earlier call that is most similar to a later one, and the differences.

    Of several equally similar calls, the last one is returned.

    Args:
        earlier: The earlier calls, at least one.
        later: The later call.
    """
    # The symmetric difference counts the differing parts; the negative position prefers the latest call.
    at = min(range(len(earlier)), key=lambda at: (len(earlier[at].parts ^ later.parts), -at))
    return at, compare_signatures(earlier[at], later)


def compare_signatures(earlier: Signature, later: Signature) -> tuple[Difference, ...]:
    """Return the differences between two calls, those of one kind and argument merged; `dropped` if none."""
    differences = list(_compare(earlier, later)) or [Difference("dropped", "", "", "")]
    merged: dict[tuple[str, str], Difference] = {}
    for difference in differences:
        root = _ROOT.match(difference.argument)
        key = (difference.kind, root[0] if root else difference.argument)
        earliest = merged.get(key)
        merged[key] = (
            Difference(earliest.kind, earliest.argument, earliest.before, earliest.after, earliest.more + 1)
            if earliest
            else difference
        )
    return tuple(merged.values())


def _compare(earlier: Signature, later: Signature) -> Iterator[Difference]:
    settings = list(_compare_texts("setting of JAX", earlier.settings, later.settings))
    # The setting for 64 bits explains changes in the types of all arguments, so it comes first.
    yield from (setting for setting in settings if setting.argument == _X64)
    names: list[str] = []
    for name in sorted({*later.statics, *earlier.statics}):
        before, after = earlier.statics.get(name), later.statics.get(name)
        if before != after:
            names.append(name)
            yield _compare_values(
                "static value", name, before or earlier.leaves.get(name), after or later.leaves.get(name)
            )
    # An argument that only one of the calls has is a change of structure.
    moved = (earlier.keywords ^ later.keywords) & (_roots(earlier) & _roots(later))
    for name in sorted(moved):
        how = ("by position", "by keyword")
        yield Difference("keyword", name, *(how if name in later.keywords else how[::-1]))
    yield from _compare_structure(earlier, later, names)
    for path, leaf in later.leaves.items():
        if old := earlier.leaves.get(path):
            yield from _compare_leaves(path, old, leaf)
    if earlier.function != later.function:
        yield Difference("new function", "", "", "")
    yield from _compare_texts("jit options", earlier.options, later.options)
    yield from (setting for setting in settings if setting.argument != _X64)


def _compare_texts(kind: Kind, earlier: Mapping[str, str], later: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*earlier, *later}):
        before, after = earlier.get(name) or "none", later.get(name) or "none"
        if before != after:
            yield Difference(kind, name, clip(before), clip(after))


def _compare_values(kind: Kind, name: str, before: Leaf | Value | None, after: Leaf | Value | None) -> Difference:
    if not (isinstance(before, Value) and isinstance(after, Value)):
        return Difference(kind, name, _name(before), _name(after))
    # Values with the same text but different hashes are different objects, which JAX traces again.
    if before.text == after.text:
        return Difference("static object", name, clip(before.text), "another that looks the same")
    return Difference(kind, name, *_show(before.text, after.text))


def _roots(signature: Signature) -> set[str]:
    paths = {*signature.leaves, *signature.nodes, *signature.statics}
    return {root[0] for path in paths if (root := _ROOT.match(path))}


def _compare_structure(earlier: Signature, later: Signature, reported: list[str]) -> Iterator[Difference]:
    """Yield the changed nodes of two trees, without already reported paths and the children of changed nodes."""
    # Short paths come first, so that a container is reported before its children.
    for path in sorted(
        {*earlier.nodes, *later.nodes, *earlier.leaves, *later.leaves}, key=lambda text: (len(text), text)
    ):
        before: Leaf | Value | None = earlier.leaves.get(path) or earlier.nodes.get(path)
        after: Leaf | Value | None = later.leaves.get(path) or later.nodes.get(path)
        both_arrays = isinstance(before, Leaf) and isinstance(after, Leaf)
        if before == after or both_arrays or any(path.startswith(prefix) for prefix in reported):
            continue
        reported.append(path)
        yield _compare_values("structure", path, before, after)


def _name(part: Leaf | Value | None) -> str:
    if part is None:
        return "not given"
    return str(part) if isinstance(part, Leaf) else clip(part.text)


def _compare_leaves(path: str, before: Leaf, after: Leaf) -> Iterator[Difference]:
    texts = str(before), str(after)
    # A different type or shape makes the weak type irrelevant, so at most one of the three is reported.
    if before.dtype != after.dtype:
        keys = before.dtype.startswith("key<") or after.dtype.startswith("key<")
        yield Difference("PRNG key" if keys else "dtype", path, *texts)
    elif before.shape != after.shape:
        yield Difference("shape", path, *texts)
    elif before.weak != after.weak:
        yield Difference("weak type", path, *texts)
    if before.sharding != after.sharding:
        nowhere = "not placed"
        yield Difference("sharding", path, before.sharding or nowhere, after.sharding or nowhere)


def _show(*texts: str) -> tuple[str, str]:
    """Return two texts for display, each shortened to the differing part if it is long."""
    if max(map(len, texts)) <= _SHOWN:
        return texts[0], texts[1]
    same = next((at for at, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), min(map(len, texts)))
    # Begin at the start of the word or field that contains the first difference.
    start = max((texts[0].rfind(mark, 0, same) for mark in ", ([{"), default=-1) + 1
    start = start if same - start < _SHOWN // 2 else same
    return clip(texts[0][start:], cut=start > 0), clip(texts[1][start:], cut=start > 0)


def clip(text: str, *, cut: bool = False) -> str:
    """Return a text on one line, shortened to 60 characters; `cut` puts an ellipsis before it."""
    line = " ".join(text.split())
    mark = "…" if cut else ""
    return mark + (line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…")
