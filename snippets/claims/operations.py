"""Checks of claims about HLO operations, counted in the compiler's own enumeration."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

from claims.evidence import expect, is_about, names_in, program
from claims.finding import Finding, by_target, only
from xla_inspect.hlo import CATEGORY, spell

if TYPE_CHECKING:
    from xla_inspect import Capture

CORE_MOVES = CATEGORY.keys() - {
    "bitcast",
    "copy-done",
    "copy-start",
    "dynamic-reshape",
    "get-dimension-size",
    "set-dimension-size",
}
"""Data movement without `bitcast`, asynchronous copies, and operations on sizes known only at run time."""

SHORT = 10
CORE_CONTROL = {"call", "conditional", "while"}
# Halves of asynchronous operations, point-to-point transfers, feeds and queries of an ID are no collectives.
NOT_COLLECTIVE = re.compile(r".*-(?:start|done)|send|recv|infeed|outfeed|.*-id")


@cache
def opcodes() -> frozenset[str]:
    """Return the opcodes of the installed jaxlib, in HLO's spelling."""
    return frozenset(spell(name) for name in _hlo.HloOpcode.__members__)


def _members(category: str) -> list[str]:
    return sorted(opcode for opcode in opcodes() if CATEGORY.get(opcode) == category)


def number_of_opcodes(claimed: int) -> Finding:
    """Return the finding on the claimed number of HLO operations."""
    # A new release of jaxlib may add opcodes, which the counts by category would miss.
    unknown = opcodes() - CATEGORY.keys()
    expect(not unknown, f"opcodes without a category: {', '.join(sorted(unknown))}")
    expect(len(opcodes()) < claimed, "this release has fewer")
    return only(is_about(len(opcodes()), claimed), f"{len(opcodes())} opcodes")


def has_matmul() -> Finding:
    """Return the finding on the claim that MatMul, Conv and Reduce are HLO operations."""
    names = {"matmul", "conv", "reduce"}
    expect({"dot", "convolution"} <= opcodes(), "a matmul is a `dot`, and Conv is spelled out")
    near = sorted(opcodes() & {"convolution", "dot", "reduce"})
    return only(names <= opcodes(), f"the opcodes are `{'`, `'.join(near)}`")


def key_opcodes() -> Finding:
    """Return the finding on the claim that dot, reduce, broadcast, transpose and fusion exist."""
    names = {"broadcast", "dot", "fusion", "reduce", "transpose"}
    return only(names <= opcodes(), f"{len(names & opcodes())} of {len(names)} are opcodes")


def element_wise(claimed: int) -> Finding:
    """Return the finding on the claimed number of element-wise operations."""
    expect(len(_members("element-wise")) > 1.25 * claimed, "HLO has far more")
    return _group("element-wise", claimed)


def reduction(claimed: int) -> Finding:
    """Return the finding on the claimed number of reductions."""
    return _group("reduction", claimed)


def linear_algebra(claimed: int) -> Finding:
    """Return the finding on the claimed number of linear algebra operations."""
    expect(len(_members("linear algebra")) < claimed, "HLO has fewer")
    return _group("linear algebra", claimed)


def custom(claimed: int) -> Finding:
    """Return the finding on the claimed number of custom operations."""
    return only(len(_members("custom")) == claimed, f"`{'`, `'.join(_members('custom'))}`")


def _group(category: str, claimed: int) -> Finding:
    members = _members(category)
    names = f": `{'`, `'.join(members)}`" if len(members) <= SHORT else ""
    return only(is_about(len(members), claimed), f"{len(members)} opcodes{names}")


def _core(category: str, core: set[str], claimed: int, what: str) -> Finding:
    """Return the finding on a claimed number: if it fits the core of a category, and if it fits the whole category."""
    members = set(_members(category))
    whole = f"{len(members)} including {what}"
    return only(is_about(len(members & core), claimed), f"{len(members & core)} in the narrow sense").but(
        is_about(len(members), claimed), whole
    )


def data_movement(claimed: int) -> Finding:
    """Return the finding on the claimed number of operations that move data."""
    return _core("data movement", set(CORE_MOVES), claimed, "asynchronous copies, dynamic sizes and `bitcast`")


def control_flow(claimed: int) -> Finding:
    """Return the finding on the claimed number of control flow operations."""
    return _core("control flow and ordering", CORE_CONTROL, claimed, "asynchronous forms and ordering")


def communication(claimed: int) -> Finding:
    """Return the finding on the claimed number of operations that communicate."""
    proper = {opcode for opcode in _members("communication") if not NOT_COLLECTIVE.fullmatch(opcode)}
    return _core("communication", proper, claimed, "start and done forms, send and receive, feeds and IDs")


def table_adds_up(claimed: int, *groups: int) -> Finding:
    """Return the finding on the claim that the claimed groups of operations add up to the claimed total."""
    expect(sum(groups) < 0.75 * claimed, "the groups add up to far fewer")
    return only(is_about(sum(groups), claimed), f"the groups add up to {sum(groups)}; HLO has {len(opcodes())} opcodes")


def mean_is_a_reduction() -> Finding:
    """Return the finding on the claim that `reduce` computes the sum, the maximum and the mean."""
    x = jax.ShapeDtypeStruct((8, 16), jnp.float32)
    texts = {function.__name__: jax.jit(function).lower(x).as_text() for function in (jnp.sum, jnp.mean, jnp.max)}
    # The parenthesis excludes longer names, such as `stablehlo.reduce_window`.
    reduced = [name for name, text in texts.items() if "stablehlo.reduce(" in text]
    return only(len(reduced) == len(texts), f"`{'`, `'.join(reduced)}` lower to `reduce`").but(
        "stablehlo.divide" not in texts["mean"], "the mean is a reduction followed by a division"
    )


def sigmoid_is_logistic() -> Finding:
    """Return the finding on the claim that `jax.nn.sigmoid` lowers to `logistic`."""
    text = jax.jit(jax.nn.sigmoid).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).as_text()
    lowered = [name.removeprefix("stablehlo.") for name in names_in(text)]
    expect("logistic" in opcodes(), "HLO has the opcode")
    return only("logistic" in lowered, f"it lowers to `{'`, `'.join(dict.fromkeys(lowered))}`")


def everything_is_element_wise() -> Finding:
    """Return the finding on the claim that relu(x @ w + b) is element-wise."""

    def look(capture: Capture) -> tuple[bool, str]:
        counts = capture.unoptimized_module.opcode_counts()
        kinds = {CATEGORY[opcode] for opcode in ("add", "maximum") if counts[opcode]}
        return kinds == {"element-wise"}, "`add` and `maximum` are element-wise"

    product = CATEGORY[next(i.opcode for i in program("layer")["cpu"].unoptimized_module.walk() if i.opcode == "dot")]
    return by_target(program("layer"), look).but(product == "element-wise", f"`dot` is {product}")
