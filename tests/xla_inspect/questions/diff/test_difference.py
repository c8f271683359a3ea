"""The comparison of two programs: equality, the cause of a difference, and the changes by line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from xla_inspect import Capture, capture
from xla_inspect.questions.diff.finding import compare_captures

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.questions.diff.difference import Difference

X = jax.ShapeDtypeStruct((64, 128), jnp.float32)
SIDES = ("old", "new")


def take(function: Callable[..., jax.Array], target: str = "cpu", **settings: object) -> Capture:
    return capture(function, X, target=target, passes=False, **settings)  # type: ignore[arg-type]  # options


def wave(x: jax.Array) -> jax.Array:
    return jnp.sin(x) + 2


def ordered(x: jax.Array) -> jax.Array:
    return jnp.sort(jnp.sin(x) + 2)


def compare(first: Capture, right: Capture) -> Difference:
    return compare_captures(first, right, SIDES)


def said(answer: Difference) -> str:
    return " ".join(str(part) for part in answer.tell() if isinstance(part, str))


def test_a_program_is_the_same_as_itself() -> None:
    answer = compare(take(wave), take(wave))
    assert answer.holds
    assert said(answer) == (
        "wave, old -> new: both programs are the same, instruction by instruction. Your code is the same: "
        "the compiler received the same StableHLO. The compiler and its options are the same."
    )


def test_code_with_more_kernels_is_reported_with_their_lines() -> None:
    answer = compare(take(wave), take(ordered))
    assert not answer.holds
    assert not answer.is_same_code
    kernels = next(amount for amount in answer.amounts if amount.name == "kernels")
    assert (kernels.left, kernels.right) == (1, 2)
    came = [amount for amount in answer.kernels if amount.what == "sort"]
    assert [(amount.text, amount.left, amount.right) for amount in came] == [("return jnp.sort(jnp.sin(x) + 2)", 0, 1)]
    assert said(answer).startswith("wave and ordered, old -> new: kernels 1 -> 2; ")


def test_other_numbers_in_as_many_kernels_are_a_difference() -> None:
    answer = compare(take(wave), take(lambda x: jnp.sin(x) + 3))
    assert not answer.holds
    assert (answer.added, answer.removed) != (0, 0) or answer.changed
    assert "the same number of kernels" in said(answer)


def test_a_line_that_only_moved_is_the_same() -> None:
    before = take(wave)
    text = before.source.replace('"""Two programs', '"""\n\nTwo programs')
    moved = {
        key: tuple(replace(frame, line=frame.line + 2, end_line=frame.end_line + 2) for frame in chain)
        for key, chain in before.frames.items()
    }
    sources = dict.fromkeys(before.sources, text)
    assert compare(before, replace(before, frames=moved, sources=sources, source=text)).holds


def test_compiler_changes_are_distinguished_from_code_changes() -> None:
    before = take(wave)
    older = replace(before, versions={**before.versions, "jaxlib": "0.1"})
    answer = compare(older, before)
    assert answer.is_same_code
    assert [(version.name, version.left) for version in answer.versions] == [("jaxlib", "0.1")]
    assert "The compiler differs: jaxlib 0.1 -> " in said(answer)
    assert answer.holds


def test_an_option_that_changes_the_program_is_named() -> None:
    answer = compare(take(ordered), take(ordered, options={"xla_disable_hlo_passes": "fusion"}))
    assert [(option.name, option.right) for option in answer.options] == [("xla_disable_hlo_passes", "fusion")]
    assert answer.is_same_code


def test_two_targets_are_compared_by_counts() -> None:
    answer = compare(take(ordered), take(ordered, "h100"))
    assert answer.is_same_result is None
    assert "The targets are CPU and NVIDIA H100." in said(answer)
    assert not answer.holds


def test_added_collectives_are_reported_by_line() -> None:
    def total(x: jax.Array) -> jax.Array:
        return x.sum(0)

    whole, cut = (
        capture(total, X, target="cpu:8", mesh={"d": 8}, specs=(spec,), passes=False)
        for spec in (jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("d"))
    )
    answer = compare(whole, cut)
    assert [
        (collective.what, collective.text, collective.left, collective.right) for collective in answer.collectives
    ] == [("all-reduce d", "return x.sum(0)", 0, 1)]


def test_memory_is_compared_by_line() -> None:
    def small(x: jax.Array) -> jax.Array:
        return jnp.sort(jnp.sin(x) @ x)

    def large(x: jax.Array) -> jax.Array:
        return jnp.sort(jnp.sin(x) @ x) + jnp.sort(jnp.cos(x) @ x)

    sides = [capture(function, jnp.ones((64, 64)), target="cpu", passes=False) for function in (small, large)]
    difference_by_place = {
        (memory.what, memory.text): memory.right - memory.left for memory in compare_captures(*sides, SIDES).memory
    }
    assert sum(difference_by_place.values()) > 0
