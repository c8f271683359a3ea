"""The part of a program that an operation belongs to, from its JAX name: modules and named scopes without loops."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The parts of a name that JAX itself adds, for calls of functions and for the parts of loops and branches.
_OWN = frozenset({
    "while", "body", "cond", "body_fun", "cond_fun", "scan", "closed_call", "core_call", "checkpoint", "remat",
    "remat2", "rematted_computation", "custom_jvp_call", "custom_vjp_call", "custom_lin", "eval_jaxpr", "shard_map",
    "pjit", "xla_call", "named_call",
})  # fmt: skip
_BRANCH = re.compile(r"branch_\d+_fun")
_CALL = re.compile(r"(?:jit|pjit|xla_call|pmap|shmap_body)\(.*\)")
# A transformation around a scope, such as `transpose(jvp(Encoder))`.
_AROUND = re.compile(r"[a-z_]+\((.*)\)")
_NUMBER, _NUMBERS = re.compile(r"\d+$"), re.compile(r"\d+")


@lru_cache(maxsize=2**12)
def read_scope(stack: str) -> tuple[str, ...]:
    """Return the scopes of a name stack, outermost first: `jit(f)/transpose(jvp(Encoder))/while/body/mlp` has two."""
    scopes: list[str] = []
    for part in _split(stack):
        if _CALL.fullmatch(part):
            continue
        inner = part
        # Transformations nest, so they are removed one by one.
        while (around := _AROUND.fullmatch(inner)) is not None:
            inner = around[1]
        # A transformation wraps a whole name stack, which may consist of several scopes.
        if inner != part:
            scopes += read_scope(inner)
        # An einsum uses its formula as its name, which is not a scope.
        elif inner and inner not in _OWN and not _BRANCH.fullmatch(inner) and "->" not in inner:
            scopes.append(inner)
    return tuple(scopes)


def read_op_scope(op_name: str) -> tuple[str, ...]:
    """Return the scopes of an operation, whose name ends with its primitive."""
    parts = _split(op_name)
    return read_scope("/".join(parts[:-1]))


def _split(stack: str) -> list[str]:
    """Split a name stack into its parts; the argument of a transformation may contain slashes."""
    parts, depth, current = [], 0, ""
    for character in stack:
        depth += (character == "(") - (character == ")")
        if character == "/" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


def name_part(scopes: tuple[str, ...], function: str, depth: int) -> str:
    """Return the name of a program's part: its scopes down to a depth, or else the function as `name()`, or empty."""
    if scopes:
        return "/".join(scopes[:depth])
    *around, name = function.replace("<locals>.", "").split(".")
    # The name of a lambda says little, so the surrounding function is added.
    names = ".".join((*around[-1:], name)) if name.startswith("<") else name
    return f"{names}()" if function else ""


def join_alike(parts: Iterable[str]) -> dict[str, str]:
    """Map each part to its group: parts whose scopes differ only in final numbers share a pattern, `block_*/mlp`."""
    alike: dict[str, list[str]] = {}
    # A dictionary removes duplicates but keeps the order, unlike a set.
    for part in dict.fromkeys(parts):
        pattern = "/".join(_NUMBER.sub("*", scope) for scope in part.split("/"))
        alike.setdefault(pattern, []).append(part)
    return {part: pattern if len(members) > 1 else part for pattern, members in alike.items() for part in members}


def name_alike(text: str) -> str:
    """Return a name with `*` in place of each number, so that names that differ only in numbers become equal."""
    return _NUMBERS.sub("*", text)
