"""A jaxpr as rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from xla_inspect.practice import models
from xla_inspect.practice.equations import MEANINGS, Equations, compare_counts, explain


def test_equations_name_what_they_read_and_make() -> None:
    equations = Equations(models.mlp, models.PARAMS, models.X)
    equations.name_inputs("params", "x")
    assert equations.rows() == [
        (1, "dot_general", "x, params.w1", "r1", "f32[32,128]"),
        (2, "broadcast_in_dim", "params.b1", "r2", "f32[1,128]"),
        (3, "add", "r1, r2", "r3", "f32[32,128]"),
        (4, "max", "r3, 0.0", "r4", "f32[32,128]"),
        (5, "dot_general", "r4, params.w2", "r5", "f32[32,16]"),
        (6, "broadcast_in_dim", "params.b2", "r6", "f32[1,16]"),
        (7, "add", "r5, r6", "r7", "f32[32,16]"),
    ]
    assert equations.text == str(jax.make_jaxpr(models.mlp)(models.PARAMS, models.X))
    assert len(equations) == 7


def test_primitives_are_counted_in_order_of_appearance() -> None:
    counts = Equations(models.mlp, models.PARAMS, models.X).primitives
    assert list(counts.items()) == [("dot_general", 2), ("broadcast_in_dim", 2), ("add", 2), ("max", 1)]
    assert compare_counts(counts, Equations(jnp.sin, models.shape(4)).primitives)[-1] == ("sin", 0, 1)


def test_an_equation_that_no_result_depends_on_is_unused() -> None:
    def wasteful(x: jax.Array) -> jax.Array:
        _ = jnp.exp(x) + 1.0
        return x * 2.0

    assert Equations(wasteful, models.shape(4)).unused == 2
    assert Equations(models.mlp, models.PARAMS, models.X).unused == 0


def test_every_primitive_that_the_practice_shows_is_explained() -> None:
    example = (models.PARAMS, models.X, models.Y)
    equation_lists = [
        Equations(models.mlp, models.PARAMS, models.X),
        Equations(jax.grad(models.loss), *example),
        Equations(jax.vmap(jax.grad(models.loss), in_axes=(None, 0, 0)), *example),
        Equations(models.wasteful, models.PARAMS, models.X),
    ]
    assert {name for equations in equation_lists for name in equations.primitives} - MEANINGS.keys() == set()
    assert explain("no_such_primitive") == "see jax.lax"
