"""Claims about the operations of HLO, counted in the compiler's own enumeration."""

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
"""Without renaming, asynchronous copies, and the operations that keep sizes known at run time only."""

SHORT = 10
CORE_CONTROL = {"call", "conditional", "while"}
NOT_COLLECTIVE = re.compile(r".*-(?:start|done)|send|recv|infeed|outfeed|.*-id")


@cache
def opcodes() -> frozenset[str]:
    """Return the opcodes of the installed jaxlib, by HLO's own spelling."""
    return frozenset(spell(name) for name in _hlo.HloOpcode.__members__)


def _members(category: str) -> list[str]:
    return sorted(opcode for opcode in opcodes() if CATEGORY.get(opcode) == category)


def number_of_opcodes(claimed: int) -> Finding:
    """HLO has about so many operations."""
    unknown = opcodes() - CATEGORY.keys()
    expect(not unknown, f"opcodes without a category: {', '.join(sorted(unknown))}")
    expect(len(opcodes()) < claimed, "this release has fewer")
    return only(is_about(len(opcodes()), claimed), f"{len(opcodes())} opcodes")


def has_matmul() -> Finding:
    """MatMul, Conv and Reduce are operations of HLO."""
    named = {"matmul", "conv", "reduce"}
    expect({"dot", "convolution"} <= opcodes(), "matmuls are `dot`, and the other is spelled out")
    near = sorted(opcodes() & {"convolution", "dot", "reduce"})
    return only(named <= opcodes(), f"the opcodes are `{'`, `'.join(near)}`")


def key_opcodes() -> Finding:
    """Dot, reduce, broadcast, transpose and fusion exist."""
    named = {"broadcast", "dot", "fusion", "reduce", "transpose"}
    return only(named <= opcodes(), f"{len(named & opcodes())} of {len(named)} are opcodes")


def element_wise(claimed: int) -> Finding:
    """So many operations are element-wise."""
    expect(len(_members("element-wise")) > 1.25 * claimed, "there are far more")
    return _group("element-wise", claimed)


def reduction(claimed: int) -> Finding:
    """So many operations reduce."""
    return _group("reduction", claimed)


def linear_algebra(claimed: int) -> Finding:
    """So many operations are linear algebra."""
    expect(len(_members("linear algebra")) < claimed, "there are fewer")
    return _group("linear algebra", claimed)


def custom(claimed: int) -> Finding:
    """So many operations are custom."""
    return only(len(_members("custom")) == claimed, f"`{'`, `'.join(_members('custom'))}`")


def _group(category: str, claimed: int) -> Finding:
    members = _members(category)
    names = f": `{'`, `'.join(members)}`" if len(members) <= SHORT else ""
    return only(is_about(len(members), claimed), f"{len(members)} opcodes{names}")


def _core(category: str, core: set[str], claimed: int, what: str) -> Finding:
    """Whether a number holds for the core of a category, and for the whole, which a reader takes it for."""
    members = set(_members(category))
    whole = f"{len(members)} with {what}"
    return only(is_about(len(members & core), claimed), f"{len(members & core)} in the narrow sense").but(
        is_about(len(members), claimed), whole
    )


def data_movement(claimed: int) -> Finding:
    """So many operations move data."""
    return _core("data movement", set(CORE_MOVES), claimed, "asynchronous copies, dynamic sizes and renaming")


def control_flow(claimed: int) -> Finding:
    """So many operations are control flow."""
    return _core("control flow and ordering", CORE_CONTROL, claimed, "asynchronous forms and ordering")


def communication(claimed: int) -> Finding:
    """So many operations communicate."""
    proper = {opcode for opcode in _members("communication") if not NOT_COLLECTIVE.fullmatch(opcode)}
    return _core("communication", proper, claimed, "start and done forms, send and receive, feeds and ids")


def table_adds_up(claimed: int, *groups: int) -> Finding:
    """The groups of a table add up to what it is said to hold."""
    expect(sum(groups) < 0.75 * claimed, "its groups add up to far fewer")
    return only(is_about(sum(groups), claimed), f"the groups add up to {sum(groups)}; there are {len(opcodes())}")


def mean_is_a_reduction() -> Finding:
    """`reduce` sums, takes the maximum and takes the mean."""
    x = jax.ShapeDtypeStruct((8, 16), jnp.float32)
    texts = {function.__name__: jax.jit(function).lower(x).as_text() for function in (jnp.sum, jnp.mean, jnp.max)}
    reduced = [name for name, text in texts.items() if "stablehlo.reduce(" in text]
    return only(len(reduced) == len(texts), f"`{'`, `'.join(reduced)}` lower to `reduce`").but(
        "stablehlo.divide" not in texts["mean"], "the mean is a reduction, and a division after it"
    )


def sigmoid_is_logistic() -> Finding:
    """`jax.nn.sigmoid` lowers to `logistic`."""
    text = jax.jit(jax.nn.sigmoid).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).as_text()
    lowered = [name.removeprefix("stablehlo.") for name in names_in(text)]
    expect("logistic" in opcodes(), "HLO has the opcode")
    return only("logistic" in lowered, f"it lowers to `{'`, `'.join(dict.fromkeys(lowered))}`")


def everything_is_element_wise() -> Finding:
    """relu(x @ w + b) is element-wise."""

    def look(capture: Capture) -> tuple[bool, str]:
        counts = capture.unoptimized_module.opcode_counts()
        kinds = {CATEGORY[opcode] for opcode in ("add", "maximum") if counts[opcode]}
        return kinds == {"element-wise"}, "`add` and `maximum` are"

    product = CATEGORY[next(i.opcode for i in program("layer")["cpu"].unoptimized_module.walk() if i.opcode == "dot")]
    return by_target(program("layer"), look).but(product == "element-wise", f"`dot` is {product}")
