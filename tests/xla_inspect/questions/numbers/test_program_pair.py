"""The comparison of two programs' results, with real compilations, and with modules that were changed by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import InspectError, capture, compare, diff_numbers
from xla_inspect.questions.numbers import digest_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture

pytestmark = pytest.mark.usefixtures("all_targets")

X = jax.ShapeDtypeStruct((8, 128), jnp.float32)
STRICT = {"xla_allow_excess_precision": False}
LOSES = "float_normalization/simplify-fp-conversions"


def lost_rounding(x: jax.Array) -> jax.Array:
    return x - x.astype(jnp.bfloat16).astype(jnp.float32)


@cache
def compiled(target: str = "h100", *, strict: bool = False) -> Capture:
    return capture(lost_rounding, X, target=target, options=STRICT if strict else {})


def scaled(factor: float) -> Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        return jnp.tanh(x) * factor

    def scale(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return y**2, inner(x).T

    return scale


def test_two_options_diverge_at_the_pass_that_only_one_of_them_lets_change_the_result() -> None:
    answer = diff_numbers(compiled(), compiled(strict=True))
    assert not answer.holds
    assert answer.left_step is not None
    assert (answer.left_step.passes, answer.right_step) == ((LOSES,), None)
    assert answer.left_step.origin.text == "return x - x.astype(jnp.bfloat16).astype(jnp.float32)"
    [difference] = answer.after
    assert (answer.before, difference.relative, answer.outputs) == ((), 1, 1)
    assert difference.absolute > 0
    text = " ".join(str(answer).split())
    assert "They diverge at simplify-fp-conversions (test_program_pair.py:" in text
    assert "Up to these passes, both programs have the same results" in text


def test_programs_with_the_same_bits_are_equal_even_if_their_modules_differ() -> None:
    answer = diff_numbers(compiled("cpu"), compiled(strict=True))
    assert answer.holds
    assert (answer.names, answer.after, answer.left_step) == (("cpu", "h100"), (), None)
    assert "cpu -> h100: the results are the same, bit by bit." in " ".join(str(answer).split())


def test_a_changed_constant_in_a_called_function_is_found_in_both_programs_before_the_passes() -> None:
    answer = diff_numbers(capture(scaled(0.1), X, X), capture(scaled(0.2), X, X))
    assert answer.is_before_passes
    assert [difference.output for difference in answer.after] == [1]
    for step in (answer.left_step, answer.right_step):
        assert step is not None
        assert (step.passes, step.origin.opcode) == ((), "multiply")
        assert step.origin.text == "return jnp.tanh(x) * factor"
    assert "diverge already before the passes, at multiply (test_program_pair.py:" in " ".join(str(answer).split())


def test_a_change_that_is_planted_into_one_pass_is_found_there() -> None:
    original = compiled(strict=True)
    change = original.passes[-1]
    text = re.sub(r"subtract\((%[\w.-]+), (%[\w.-]+)\)", r"subtract(\2, \1)", change.text)
    planted = replace(original, passes=(*original.passes[:-1], replace(change, text=text)), after=text)
    unknown = text.replace(" subtract(", " custom-call(").replace(", metadata", ', custom_call_target="no", metadata')
    answer = diff_numbers(original, replace(planted, after=unknown))
    assert answer.right_step is not None
    assert (answer.left_step, answer.right_step.passes) == (None, (f"{change.pipeline}/{change.name}",))
    assert answer.after[0].relative == 2
    assert (answer.is_complete, answer.holds) == (False, False)
    assert "the results of the last modules that ran (not the optimized ones) differ" in " ".join(str(answer).split())


def test_missing_modules_are_reported() -> None:
    ends = replace(compiled(strict=True), passes=())
    text = " ".join(str(diff_numbers(ends, replace(compiled(), passes=()))).split())
    assert "They diverge after the last recorded pass (test_program_pair.py:" in text
    assert "--stage capture --passes` saves them" in text
    lone = replace(ends, before="")
    unknown = re.sub(r" fusion\((.*), kind=kLoop, calls=[^,]*", r' custom-call(\1, custom_call_target="no"', lone.after)
    text = " ".join(str(diff_numbers(lone, replace(lone, after=unknown))).split())
    assert "nothing is compared, because no module of right ran" in text


def test_two_ranks_with_other_options_diverge_after_the_partitioning() -> None:
    def centered(x: jax.Array) -> jax.Array:
        return lost_rounding(x) + x.mean()

    ranks = [
        capture(centered, X, target="h100:2", mesh={"data": 2}, specs=(jax.P("data"),), options=options)
        for options in ({}, STRICT)
    ]
    answer = diff_numbers(*ranks)
    assert answer.left_step is not None
    assert (answer.left_step.passes, answer.right_step) == ((LOSES,), None)
    with pytest.raises(InspectError, match="argument 0 of shape"):
        diff_numbers(ranks[0], compiled())


def test_arrays_are_passed_by_name_to_the_first_and_by_position_to_the_second_program() -> None:
    exact = np.ones((8, 128), np.float32)
    renamed = capture(lambda values: lost_rounding(values), X, options=STRICT)  # noqa: PLW0108 - it has another name
    ends = [replace(program, passes=()) for program in (compiled(), renamed)]
    answer = diff_numbers(*ends, inputs={"x": exact})
    assert answer.holds
    assert "argument x of h100 has the same numbers as values of cpu." in " ".join(str(answer).split())


def test_programs_with_other_arguments_or_results_are_refused_in_one_sentence() -> None:
    first = capture(scaled(0.1), X, X)
    short = jax.ShapeDtypeStruct((4, 128), jnp.float32)
    cases = {
        r"left has 2 arguments, and right has 1 argument,": compiled("cpu"),
        r"argument 1 of shape f32\[8,128\], and right has argument 1 of shape f32\[4,128\],": capture(
            scaled(0.1), X, short
        ),
        r"result 1 of shape f32\[128,8\], and right has result 1 of shape f32\[8,128\],": capture(
            lambda x, y: (x + y, y), X, X
        ),
    }
    for message, second in cases.items():
        with pytest.raises(InspectError, match=f"{message} so their results cannot be compared$"):
            diff_numbers(first, second)


def test_the_hash_of_results_has_all_bits_of_large_integers() -> None:
    with jax.enable_x64():
        digests = {
            digest_results(capture(lambda x, last=last: x * 0 + 2**60 + last, jax.ShapeDtypeStruct((2,), jnp.int64)))
            for last in range(2)
        }
    assert len(digests) == 2


def test_what_is_no_capture_is_refused() -> None:
    both = [compiled(), jnp.sin]
    for compare_two, sides in ((compare, both), (diff_numbers, both[::-1])):
        with pytest.raises(InspectError, match=r"takes two captures, .* and <.*sin.*> is not one"):
            compare_two(*sides)  # type: ignore[operator]
