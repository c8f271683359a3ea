"""Sharding constraints that JAX accepts: XLA pads their values, or they have no effect without a mesh."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from xla_inspect import capture, collectives, memory
from xla_inspect.questions.collectives import explain_constraints
from xla_inspect.questions.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable

MESH = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def total(x: jax.Array) -> jax.Array:
    return jnp.sum(jax.lax.with_sharding_constraint(jnp.sin(x), P("data", "model")))  # constrains


def silent(x: jax.Array) -> jax.Array:
    return jax.lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P(None, ("data", "model"))))  # has no effect


def line_of(text: str) -> str:
    """Return the place of the first line of this file that contains a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"test_constraints.py:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def explain(function: Callable[[jax.Array], jax.Array], *sizes: int, **mesh: int) -> tuple[str, ...]:
    shape = jax.ShapeDtypeStruct(sizes, jnp.float32)
    return collectives(function, shape, target=f"cpu:{prod(mesh.values())}", mesh=mesh).constraints


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((10, 6), "f32[10,6]: dimension 0 has 10 rows, and data has 4 devices. {accepts} 12, 3 for each device."),
        ((8, 7), "f32[8,7]: dimension 1 has 7 elements, and model has 2 devices. {accepts} 8, 4 for each device."),
        ((2, 2), "f32[2,2]: dimension 0 has 2 rows, and data has 4 devices. {accepts} 4, 1 for each device."),
    ],
)
def test_a_constraint_that_does_not_divide_is_explained_with_sizes(sizes: tuple[int, ...], reason: str) -> None:
    (sentence,) = explain(total, *sizes, data=4, model=2)
    sentence_end = reason.format(accepts="JAX accepts this, and XLA pads the dimension to")
    assert sentence == f"{line_of('# constrains')}: the constraint P('data', 'model') does not divide {sentence_end}"


def test_xla_pads_the_value_as_the_sentence_says() -> None:
    shape = jax.ShapeDtypeStruct((10, 6), jnp.float32)
    compiled = capture(total, shape, target="cpu:8", mesh={"data": 4, "model": 2})
    shapes = {instruction.shape.plain for instruction in compiled.module.walk()}
    assert {"f32[12,3]", "f32[3,3]"} <= shapes


def test_a_constraint_that_divides_needs_no_explanation() -> None:
    assert explain(total, 8, 4, data=4, model=2) == ()


def test_the_backward_pass_does_not_repeat_the_explanation() -> None:
    assert len(explain(jax.grad(total), 10, 6, data=4, model=2)) == 1


def test_a_constraint_without_a_mesh_is_named() -> None:
    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    compiled = capture(silent, shape)
    expected = (
        f"{line_of('# has no effect')}: the constraint P(None, ('data', 'model')) has no effect, because no mesh is "
        "set; pass --mesh data=4,model=2, or call jax.set_mesh."
    )
    assert explain_constraints(compiled) == (expected,)
    for answer in (collectives(compiled), memory(compiled), summarize("silent", [compiled], "")):
        assert expected in " ".join(str(answer).split())


def test_the_same_constraint_has_an_effect_with_a_mesh() -> None:
    assert explain(silent, 8, 8, data=4, model=2) == ()
