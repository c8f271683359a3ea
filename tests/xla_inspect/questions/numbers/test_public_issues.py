"""Public issues whose result differs when it is compiled: the pass that the answer names, or the other cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xla_inspect.questions.numbers.options import compare_numbers
from xla_inspect.subject import make_subject

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.questions.numbers.finding import NumberChanges

pytestmark = pytest.mark.usefixtures("all_targets")


@dataclass(frozen=True)
class Issue:
    """A public issue: its repository and number, a program with the same fault, and the cause of the difference."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    target: str
    cause: str
    """The pass, or a part of the answer that names another cause, as far as this CPU can tell."""

    def ask(self, *, tried: bool = False) -> NumberChanges:
        """Return the answer about the program."""
        with jax.enable_x64(any(np.asarray(array).dtype == np.float64 for array in self.inputs)):
            subject = make_subject(self.function.__name__, self.function, self.inputs, {}, "")
            return compare_numbers(subject, self.target, inputs=dict(enumerate(self.inputs)), tried=tried)


def compare_quotient(frequency: jax.Array) -> jax.Array:
    return frequency / 1e9 >= 0.1


def scale_back(x: jax.Array) -> jax.Array:
    for factor in (np.e, np.pi, 2.0) * 10:
        x = x * factor
    for factor in (2.0, np.pi, np.e) * 10:
        x = x / factor
    return x


def log_of_power(x: jax.Array) -> jax.Array:
    return jnp.log(x**x)


def subtract_products(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return a * y - b * x


def add_products(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    return a * x + b * x


def subtract_squares(x: jax.Array, share: jax.Array) -> jax.Array:
    return (x * (1 + share)) ** 2 - x**2


def angle(x: jax.Array) -> jax.Array:
    return jnp.arcsin(jnp.cos(x))


def find_rounding_error(x: jax.Array, y: jax.Array) -> jax.Array:
    return y - ((x + y) - x)


def round_twice(x: jax.Array) -> jax.Array:
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def divide_cross(x: jax.Array) -> jax.Array:
    product = jnp.cross(x, x)[2]
    return product / product


def add_zero(x: jax.Array) -> jax.Array:
    return x + 0.0


def inverse_power(exponents: jax.Array) -> jax.Array:
    return 1 / 256**exponents


def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def write_twice(x: jax.Array, y: jax.Array) -> jax.Array:
    return x.at[jnp.array([0, 1, 0])].set(y)


def log_of_exp(x: jax.Array) -> jax.Array:
    return jnp.log(jnp.exp(x))


def root_of_square(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.abs(jnp.square(x)))


def multiply_exponentials(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.exp(x) * jnp.exp(y)


def angle_of_zero(x: jax.Array) -> jax.Array:
    zero = lax.bitwise_xor(x != 0, x != 0).astype(jnp.float32)
    return lax.atan2(zero, zero)


SMALL = np.asarray(jnp.linspace(0, 3, 64, dtype=jnp.bfloat16))
MATRICES = (np.float32([[0.3744, 0.1656], [0.4707, 0.1663]]), np.float32([[0.3946, 0.1186], [0.1569, 0.3145]]))

PASSES = (
    Issue("jax-ml/jax#25601", compare_quotient, (np.float32(1e8),), "cpu", "algsimp"),
    Issue("jax-ml/jax#2071", scale_back, (np.float32(1),), "h100", "algsimp"),
    Issue("tensorflow/tensorflow#57744", log_of_power, (np.float32([-1.5]),), "h100", "algsimp"),
    Issue("jax-ml/jax#18507", subtract_products, tuple(map(np.float32, (2396747, 2396747, 7, 7))), "cpu", "fusion"),
    Issue("openxla/xla#41579", add_products, tuple(map(np.float32, (1e20, -1e20, 1e10))), "cpu", "fusion"),
    Issue("jax-ml/jax#26147", subtract_squares, (np.float32(0.1), np.float32(0)), "cpu", "fusion"),
    Issue("tensorflow/tensorflow#62222", angle, (SMALL,), "h100", "simplify-fp-conversions"),
    Issue("jax-ml/jax#23007", find_rounding_error, (SMALL, SMALL[::-1]), "a100", "simplify-fp-conversions"),
    Issue("openxla/xla#41605", round_twice, (np.float32([0.1, 1 / 3]),), "h100", "simplify-fp-conversions"),
)  # fmt: skip

OTHERS = (
    Issue("jax-ml/jax#26147", subtract_squares, (np.float32(0.1), np.float32(0)), "h100", ""),
    Issue("jax-ml/jax#38602", divide_cross, (np.float32([0.1, 0.9, 0.3]),), "cpu",
        "NaN or infinity NaN or infinity a call without jit, in which JAX compiles its own functions"),
    Issue("jax-ml/jax#26658", add_zero, (np.float64(2.2e-313),), "cpu", "1 1 the function run eagerly"),
    Issue("jax-ml/jax#8604", inverse_power, (np.arange(1, 5, dtype=np.int32),), "cpu",
        "Output 0 has an infinity from the start, before any pass; it begins at divide"),
    Issue("jax-ml/jax#9973", multiply, MATRICES, "tpu-v5e", "round differently in its matrix units"),
    Issue("jax-ml/jax#11655", write_twice, (np.zeros(2, np.int32), np.arange(3, dtype=np.int32)), "h100",
        "add or scatter in another order"),
)  # fmt: skip

MENDED = (
    Issue("jax-ml/jax#38099", log_of_exp, (np.float32([89]),), "cpu", ""),
    Issue("jax-ml/jax#37919", root_of_square, (np.finfo(np.float32).max,), "h100", ""),
    Issue("tensorflow/tensorflow#123169", multiply_exponentials, (np.float32(100), np.float32(-100)), "cpu", ""),
    Issue("openxla/xla#44705", angle_of_zero, (np.arange(5, dtype=np.int32),), "cpu", ""),
)


@pytest.mark.parametrize("issue", PASSES, ids=lambda issue: issue.name)
def test_the_pass_behind_a_public_issue_is_named_and_keeps_the_result_when_it_is_off(issue: Issue) -> None:
    answer = issue.ask(tried=True)
    assert answer.largest
    assert [name.rpartition("/")[2] for name in answer.largest.passes] == [issue.cause]
    assert answer.largest.origin.where.startswith("test_public_issues.py:")
    assert f"xla_disable_hlo_passes={issue.cause}" in [trial.option for trial in answer.trials if trial.keeps]
    [eager] = answer.references
    assert eager.last
    assert eager.last.relative > 0 or eager.last.nonfinite > 0
    text = " ".join(str(answer).split())
    assert ("(fused multiply-add)" in text) == (issue.cause == "fusion")
    assert ("After all passes, the results have no NaN" in text) == bool(eager.last.nonfinite)


@pytest.mark.parametrize("issue", [*OTHERS, *MENDED], ids=lambda issue: f"{issue.name} {issue.target}")
def test_a_public_issue_that_no_pass_causes_gets_the_other_cause(issue: Issue) -> None:
    answer = issue.ask()
    assert (answer.steps, answer.missed) == ((), ())
    assert issue.cause in " ".join(str(answer).split())
    if issue in MENDED:
        assert [reference.last for reference in answer.references] == [None]
