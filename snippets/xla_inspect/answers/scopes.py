"""The names that JAX and its libraries give to parts of a program, read off the names of operations."""

from __future__ import annotations

import re

_WRAPPED = re.compile(
    r"(?:transpose|jvp|vmap|remat|checkpoint|rematted_computation|pjit|jit|shard_map|custom_jvp|custom_vjp|closed_call)\((.*)\)"
)
_STRUCTURE = frozenset(
    {
        "eval_jaxpr",
        "while",
        "body",
        "cond",
        "closed_call",
        "checkpoint",
        "rematted_computation",
        "branch_0_fun",
        "branch_1_fun",
        "core_call",
        "remat",
        "",
    }
)


def name_scope(op_name: str) -> str:
    """Return the scope of an operation: the named scopes and modules around it, without what JAX's transforms add.

    Args:
        op_name: Such as `jit(step)/transpose(jvp(Encoder))/while/body/dropout/mul`, whose scope is `Encoder/dropout`.
    """
    parts = op_name.split("/")[:-1]
    named = []
    for part in parts:
        if part.startswith(("jit(", "pjit(")):
            continue
        inner = part
        while match := _WRAPPED.fullmatch(inner):
            inner = match[1]
        if inner not in _STRUCTURE:
            named.append(inner)
    return "/".join(named)
