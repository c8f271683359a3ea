"""Meshes: one program partitioned over the devices of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax._src.sharding_impls import GSPMDSharding
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from xla_inspect import InspectError, TargetUnavailableError, capture, capture_all, jax_private
from xla_inspect.compilation import meshes
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture

MATRIX = jax.ShapeDtypeStruct((16, 8), jnp.float32)


def scale(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return x * w["by"] + w["bias"]


def test_a_program_is_partitioned_over_the_devices_of_a_mesh() -> None:
    specs = (P("data", "model"), {"by": P("data", "model"), "bias": P()})
    program = capture(
        scale, MATRIX, {"by": MATRIX, "bias": MATRIX}, target="cpu:8", mesh={"data": 4, "model": 2}, specs=specs
    )
    shapes = {parameter.op_name: parameter.shape.plain for parameter in program.module.entry.parameters}
    assert program.module.num_partitions == 8
    assert 'sdy.mesh @mesh = <["data"=4, "model"=2]>' in program.stablehlo
    assert shapes == {"x": "f32[4,4]", "w['by']": "f32[4,4]", "w['bias']": "f32[16,8]"}


def test_one_spec_can_apply_to_a_whole_pytree() -> None:
    program = capture(
        scale, MATRIX, {"by": MATRIX, "bias": MATRIX}, target="cpu:8", mesh={"x": 8}, specs=(P("x"), P("x"))
    )
    assert {parameter.shape.plain for parameter in program.module.entry.parameters} == {"f32[2,8]"}


def test_a_program_may_name_the_axes_of_its_mesh() -> None:
    def total(x: jax.Array) -> jax.Array:
        return jax.shard_map(lambda part: jax.lax.psum(part, "x"), in_specs=P("x"), out_specs=P())(x)

    program = capture(total, MATRIX, target="cpu:8", mesh={"x": 8}, specs=(P("x"),))
    assert program.module.opcode_counts()["all-reduce"] == 1


def test_a_mesh_with_another_size_than_the_target_is_rejected() -> None:
    with pytest.raises(InspectError, match=r"a mesh of 2 x 2 takes 4 devices, and target 'cpu:8' has 8"):
        capture(jnp.sin, MATRIX, target="cpu:8", mesh={"x": 2, "y": 2}, specs=(P("x"),))


def test_specs_without_a_mesh_are_rejected() -> None:
    with pytest.raises(InspectError, match="give mesh too"):
        capture(jnp.sin, MATRIX, target="cpu:8", specs=(P("x"),))


@pytest.mark.parametrize("specs", [(), (P("y"),), ((P("x"), P()),), (P(None, None, "x"),)])
def test_specs_that_do_not_fit_the_examples_are_rejected(specs: tuple[object, ...]) -> None:
    with pytest.raises(InspectError, match="specs holds a PartitionSpec, or a pytree of them, for each positional"):
        capture(jnp.sin, MATRIX, target="cpu:8", mesh={"x": 8}, specs=specs)


@pytest.mark.usefixtures("all_targets")
def test_a_program_rejected_by_one_target_is_an_error_or_optionally_a_gap() -> None:
    square = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    with pytest.raises(NotImplementedError, match="'eig' not found for platform tpu"):
        capture_all(jnp.linalg.eigvals, square, targets=("cpu", "tpu-v4"))
    captures = capture_all(jnp.linalg.eigvals, square, targets=("cpu", "tpu-v4"), refusals=True)
    assert list(captures) == ["cpu"]
    with pytest.raises(TargetUnavailableError, match="'eig' not found for platform tpu"):
        captures["tpu-v4"]


# One pass that no other compiler has, by target.
MARKS = {"cpu:8": "dot-library-rewriter", "h100:8": "priority-fusion", "tpu-v5e:2x4": "tpu_fusion"}


def make_mesh() -> Mesh:
    """Return a mesh over the CPU devices of a user without accelerators."""
    auto = (AxisType.Auto,) * 2
    return jax.make_mesh((4, 2), ("data", "model"), auto, devices=jax.devices("cpu")[:8])


def spread(*names: str | None) -> NamedSharding:
    return NamedSharding(make_mesh(), P(*names))


def lie(sharding: jax.sharding.Sharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(MATRIX.shape, MATRIX.dtype, sharding=sharding)


def gram(x: jax.Array) -> jax.Array:
    return x @ x.T


def total(x: jax.Array) -> jax.Array:
    work = jax.shard_map(lambda part: jax.lax.psum(part, "data"), mesh=make_mesh(), in_specs=P("data"), out_specs=P())
    return work(x)


def explicit() -> NamedSharding:
    return NamedSharding(jax.make_mesh((8,), ("x",), (AxisType.Explicit,), devices=jax.devices("cpu")[:8]), P("x"))


# What spreads a program over devices of the reader's: the function, and its example.
WAYS: dict[str, Callable[[], tuple[Callable[..., Any], Any]]] = {
    "an example": lambda: (gram, lie(spread("data", "model"))),
    "an array": lambda: (gram, jax.device_put(jnp.ones(MATRIX.shape), spread("data", "model"))),
    "an array of another kind of sharding": lambda: (
        gram,
        jax.device_put(jnp.ones(MATRIX.shape), GSPMDSharding.get_replicated(tuple(jax.devices("cpu")[:8]))),
    ),
    "an abstract mesh": lambda: (gram, lie(NamedSharding(make_mesh().abstract_mesh, P("data")))),
    "explicit axes": lambda: (jnp.sin, lie(explicit())),
    "a constraint inside": lambda: (lambda x: jax.lax.with_sharding_constraint(x @ x.T, spread("data")), MATRIX),
    "a shard_map inside": lambda: (total, MATRIX),
    "shardings of jit": lambda: (jax.jit(gram, in_shardings=spread("data"), out_shardings=spread()), MATRIX),
    "a jit inside": lambda: (lambda x: jax.jit(gram, out_shardings=spread(None, "model"))(x) + 1, MATRIX),
    "device_put inside": lambda: (lambda x: jax.device_put(x, spread("data")) * 2, MATRIX),
    "pinned memory": lambda: (
        jax.jit(gram, out_shardings=spread("data").with_memory_kind("pinned_host")),
        lie(spread("data")),
    ),
}


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", MARKS)
@pytest.mark.parametrize("way", WAYS)
def test_a_program_spread_over_the_readers_devices_is_compiled_for_those_of_the_target(way: str, target: str) -> None:
    function, example = WAYS[way]()
    program = capture(function, example, target=target)
    assert (program.module.num_partitions, which(program)) == (8, target)


def which(capture: Capture) -> str:
    """Return the target whose compiler made a capture, identified by its passes."""
    ran = {run.name for run in capture.runs}
    return " ".join(target for target, mark in MARKS.items() if mark in ran)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", MARKS)
def test_the_readers_mesh_and_one_of_the_same_axes_give_the_same(target: str) -> None:
    program = capture(gram, MATRIX, target=target, mesh={"data": 4, "model": 2}, specs=(P("data", "model"),))
    own = capture(gram, lie(spread("data", "model")), target=target)
    both = capture(gram, lie(spread("data", "model")), target=target, mesh={"data": 4, "model": 2})
    backwards = Mesh(make_mesh().devices[::-1, ::-1], ("data", "model"))
    turned = capture(gram, lie(NamedSharding(backwards, P("data", "model"))), target=target)
    assert [variant.after for variant in (own, both, turned)] == [program.after] * 3


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", MARKS)
def test_an_example_on_one_device_of_the_readers_is_compiled_for_one_of_the_target(target: str) -> None:
    examples = (lie(SingleDeviceSharding(jax.devices("cpu")[2])), jax.device_put(jnp.ones((16, 8)), jax.devices()[3]))
    for example in examples:
        program = capture(gram, example, target=target)
        assert (program.module.num_partitions, which(program)) == (1, target)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("target", "instead"), [("cpu", "'cpu:8'"), ("h100:4", "'h100:8'"), ("tpu-v5e", "tpu-v5e with a grid of 8")]
)
def test_a_users_mesh_with_another_size_than_the_target_is_rejected(target: str, instead: str) -> None:
    has = {"cpu": 1, "h100:4": 4, "tpu-v5e": 4}[target]
    message = f"over 8 devices, and target '{target}' has {has}; take {instead} for the target, or make a mesh of {has}"
    for function, example in (WAYS["an example"](), WAYS["a constraint inside"]()):
        with pytest.raises(InspectError, match=message):
            capture(function, example, target=target)


def test_an_example_on_a_mesh_with_other_axes_is_rejected() -> None:
    with pytest.raises(
        InspectError, match=r"an example lies on a mesh of \{'data': 4, 'model': 2\}, and mesh is \{'x': 8"
    ):
        capture(gram, lie(spread("data")), target="cpu:8", mesh={"x": 8})


def test_conflicting_meshes_are_rejected_with_jaxs_message() -> None:
    backwards = NamedSharding(Mesh(make_mesh().devices[::-1], ("data", "model")), P("data"))
    with pytest.raises(ValueError, match="incompatible devices"):
        capture(jnp.add, lie(spread("data")), lie(backwards), target="cpu:8")


@pytest.mark.usefixtures("all_targets")
def test_a_compilation_for_other_devices_is_not_accepted_as_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here `place` is replaced by a function that leaves the program on the user's own devices."""
    monkeypatch.setattr(jax_private, "place", lambda stage, _: stage)
    with pytest.raises(InspectError, match=r"'gram' was compiled for cpu and not for target 'h100:8'"):
        capture(gram, lie(spread("data")), target="h100:8")


@pytest.mark.usefixtures("all_targets")
def test_a_tpu_device_is_the_same_as_on_the_hardware() -> None:
    """JAX takes meshes of whole chips only on v4 and v5p, and one device for each of a TPU7x's two dies."""
    chips = {"tpu-v4:2x2x2": 8, "tpu-v5e:2x4": 8, "tpu-v5p:2x2x2": 8, "tpu-v6e:2x4": 8, "tpu7x:2x2x1": 8}
    arguments = {"mesh": {"x": 8}, "specs": (P("x"),)}
    captures = capture_all(jnp.sin, MATRIX, targets=tuple(chips), **arguments)
    assert {target: capture.module.num_partitions for target, capture in captures.items()} == chips


def test_a_mesh_axis_can_be_part_of_a_physical_axis() -> None:
    mesh = meshes.make_mesh({"fsdp": 128, "tensor": 4}, find_target("tpu-v5p:8x8x8"))
    assert dict(mesh.shape) == {"fsdp": 128, "tensor": 4}
    assert [device.coords for device in mesh.devices[0]] == [[at, 0, 0] for at in range(4)], "neighbours"
