"""Meshes: one program partitioned over a target's devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import InspectError, TargetUnavailableError, capture, capture_all

MATRIX = jax.ShapeDtypeStruct((16, 8), jnp.float32)


def scale(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return x * w["by"] + w["bias"]


def test_a_program_is_partitioned_over_the_devices_of_a_mesh() -> None:
    specs = (P("data", "model"), {"by": P("data", "model"), "bias": P()})
    found = capture(
        scale, MATRIX, {"by": MATRIX, "bias": MATRIX}, target="cpu:8", mesh={"data": 4, "model": 2}, specs=specs
    )
    shapes = {parameter.op_name: parameter.shape.plain for parameter in found.module.entry.parameters}
    assert found.module.num_partitions == 8
    assert 'sdy.mesh @mesh = <["data"=4, "model"=2]>' in found.stablehlo
    assert shapes == {"x": "f32[4,4]", "w['by']": "f32[4,4]", "w['bias']": "f32[16,8]"}


def test_one_spec_may_stand_for_a_whole_pytree() -> None:
    found = capture(
        scale, MATRIX, {"by": MATRIX, "bias": MATRIX}, target="cpu:8", mesh={"x": 8}, specs=(P("x"), P("x"))
    )
    assert {parameter.shape.plain for parameter in found.module.entry.parameters} == {"f32[2,8]"}


def test_a_program_may_name_the_axes_of_its_mesh() -> None:
    def total(x: jax.Array) -> jax.Array:
        return jax.shard_map(lambda part: jax.lax.psum(part, "x"), in_specs=P("x"), out_specs=P())(x)

    found = capture(total, MATRIX, target="cpu:8", mesh={"x": 8}, specs=(P("x"),))
    assert found.module.opcode_counts()["all-reduce"] == 1


def test_a_mesh_of_another_size_than_the_target_is_refused() -> None:
    with pytest.raises(InspectError, match=r"a mesh of 2 x 2 takes 4 devices, and target 'cpu:8' has 8"):
        capture(jnp.sin, MATRIX, target="cpu:8", mesh={"x": 2, "y": 2}, specs=(P("x"),))


def test_specs_without_a_mesh_are_refused() -> None:
    with pytest.raises(InspectError, match="give mesh too"):
        capture(jnp.sin, MATRIX, target="cpu:8", specs=(P("x"),))


@pytest.mark.parametrize("specs", [(), (P("y"),), ((P("x"), P()),), (P(None, None, "x"),)])
def test_specs_that_do_not_fit_the_examples_are_refused(specs: tuple[object, ...]) -> None:
    with pytest.raises(InspectError, match="specs holds a PartitionSpec, or a pytree of them, for each positional"):
        capture(jnp.sin, MATRIX, target="cpu:8", mesh={"x": 8}, specs=specs)


@pytest.mark.usefixtures("all_targets")
def test_what_is_refused_for_one_target_is_an_error_or_by_wish_a_gap() -> None:
    given = {"targets": ("cpu:8", "tpu-v4"), "mesh": {"x": 8}, "specs": (P("x"),)}
    with pytest.raises(AssertionError, match="one device per chip"):
        capture_all(jnp.sin, MATRIX, **given)
    found = capture_all(jnp.sin, MATRIX, **given, refusals=True)
    assert list(found) == ["cpu:8"]
    with pytest.raises(TargetUnavailableError, match="one device per chip"):
        found["tpu-v4"]
