"""The partitioning of a program for several devices is compared like any other pass."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import capture, numbers
from xla_inspect.questions.numbers.number_comparison import NumberComparison

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture
    from xla_inspect.questions.numbers.finding import NumberChanges

pytestmark = pytest.mark.usefixtures("all_targets")

P = jax.P


def make_shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def update(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    def find_loss(w: jax.Array) -> jax.Array:
        error = x @ w - y
        return (error * error).sum()

    return w - 0.01 * jax.grad(find_loss)(w)


def update_with_numpy(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    return [w - 0.02 * x.T @ (x @ w - y)]


def two_layers(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    hidden = jnp.maximum(x @ up, 0)
    return hidden @ down


def two_layers_with_numpy(x: np.ndarray, up: np.ndarray, down: np.ndarray) -> list[np.ndarray]:
    return [np.maximum(x @ up, 0) @ down]


def add_on_devices(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    def multiply(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.psum(x @ w, "rows") + jax.lax.axis_index("rows")

    y = jax.shard_map(multiply, in_specs=(P(None, "rows"), P("rows")), out_specs=P("rows"), check_vma=False)(x * 2, w)
    return y, y.sum()


def add_on_devices_with_numpy(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    y = np.concatenate([2 * x @ w + device for device in range(4)])
    return [y, y.sum()]


def add_padded(x: jax.Array) -> jax.Array:
    y = jnp.exp(jax.lax.with_sharding_constraint(x, P(None, "rows")))
    return y.sum()


def add_padded_with_numpy(x: np.ndarray) -> list[np.ndarray]:
    return [np.exp(x).sum()]


WEIGHTS = make_shape(16, 8), make_shape(32, 16), make_shape(32, 8)
PROGRAMS: dict[str, tuple[Callable[..., object], tuple[jax.ShapeDtypeStruct, ...], dict[str, int], tuple[jax.P, ...]]]
PROGRAMS = {
    "data parallel": (jax.jit(update, donate_argnums=0), WEIGHTS, {"rows": 4}, (P(), P("rows"), P("rows"))),
    "gathered weights": (update, WEIGHTS, {"rows": 4}, (P("rows"), P("rows"), P("rows"))),
    "tensor parallel": (
        two_layers,
        (make_shape(8, 16), make_shape(16, 32), make_shape(32, 16)),
        {"rows": 2, "columns": 4},
        (P("rows"), P(None, "columns"), P("columns")),
    ),
    "on devices": (add_on_devices, (make_shape(8, 64), make_shape(64, 16)), {"rows": 4}, (P("rows"), P())),
    "padded": (add_padded, (make_shape(32, 30),), {"rows": 4}, (P("rows"),)),
}
EXPECTED = {
    update: update_with_numpy,
    two_layers: two_layers_with_numpy,
    add_on_devices: add_on_devices_with_numpy,
    add_padded: add_padded_with_numpy,
}


def capture_partitioned(name: str, target: str) -> Capture:
    """Return a capture that ends with the first module after the partitioning."""
    function, args, mesh, specs = PROGRAMS[name]
    base, size = target.partition(":")[0], int(np.prod([*mesh.values()]))
    grid = {4: "2x2", 8: "2x4"}[size] if base == "tpu-v5e" else str(size)
    whole = capture(function, *args, target=f"{base}:{grid}", mesh=mesh, specs=specs)
    end = next(number for number, change in enumerate(whole.passes) if "_spmd (" in change.text)
    return replace(whole, passes=whole.passes[: end + 1], after=whole.passes[end].text)


def change_text(program: Capture, number: int, old: str, new: str) -> Capture:
    """Return a capture with another text in one of its last modules, counted from the end."""
    change = program.passes[number]
    text = change.text.replace(old, new, 1)
    assert text != change.text
    passes = [*program.passes]
    passes[number] = replace(change, text=text)
    return replace(program, passes=tuple(passes), after=passes[-1].text)


@pytest.mark.parametrize(
    ("name", "target", "line"),
    [
        ("data parallel", "cpu", "error = x @ w - y"),
        ("data parallel", "h100", "error = x @ w - y"),
        ("data parallel", "tpu-v5e", "error = x @ w - y"),
        ("tensor parallel", "h100", "return hidden @ down"),
        ("gathered weights", "tpu-v5e", "error = x @ w - y"),
        ("on devices", "cpu", "return y, y.sum()"),
        ("on devices", "h100", "return y, y.sum()"),
        ("padded", "cpu", "return y.sum()"),
    ],
)
def test_the_partitioning_changes_the_order_of_a_sum_of_a_right_result(name: str, target: str, line: str) -> None:
    program = capture_partitioned(name, target)
    with NumberComparison(program, "random", 0, 10) as comparison:
        changes = comparison.compare()
    assert changes.missed == ()
    arguments = [array.astype(np.float64) for array in comparison.inputs.arrays.values()]
    function = getattr(PROGRAMS[name][0], "__wrapped__", PROGRAMS[name][0])
    for *_, results in (comparison.states[0], comparison.states[-1]):
        for [result], expected in zip(results, EXPECTED[function](*arguments), strict=True):
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    largest = changes.largest
    assert largest is not None
    assert largest.passes[0].endswith("spmd-partitioning")
    assert 0 < largest.difference.relative < 1e-5
    assert largest.origin.text == line
    text = " ".join(str(changes).split())
    assert "the largest step is" in text
    assert "spmd-partitioning, at test_sharded_programs.py:" in text
    assert not any("other values" in note or "not understood" in note for note in changes.notes)


def find_largest(changes: NumberChanges) -> tuple[str, float, str]:
    assert changes.largest is not None
    step = changes.largest
    return step.passes[-1].rpartition("/")[2], step.difference.relative, step.origin.text


def test_a_wrong_order_of_devices_and_wrong_groups_are_found_in_the_partitioning() -> None:
    program = capture_partitioned("tensor parallel", "h100")
    swapped = numbers(change_text(program, -1, "[2,4]<=[8]", "[2,4]<=[4,2]T(1,0)"))
    name, relative, line = find_largest(swapped)
    assert (name, line) == ("spmd-partitioning", "return hidden @ down")
    assert relative > 0.1
    # The weights get the columns of another device.
    sharding = "sharding={mesh['rows'=2,'columns'=4], [{}, {'columns'}]}"
    other = "sharding={devices=[1,4,2]0,4,3,7,2,6,1,5 last_tile_dim_replicate}"
    moved = numbers(change_text(program, -2, sharding, other))
    name, relative, _ = find_largest(moved)
    assert name == "spmd-partitioning"
    assert relative > 0.1


def test_devices_that_disagree_about_a_replicated_result_are_reported() -> None:
    program = capture_partitioned("data parallel", "cpu")
    groups = re.search(r"replica_groups=(.*?), use_global", program.after)
    assert groups
    changes = numbers(change_text(program, -1, groups[1], "{{0,1},{2,3}}"))
    [note] = [note for note in changes.notes if "other values" in note]
    assert "spmd-partitioning, 2 devices have other values of output 0" in note


def test_a_sharding_that_is_not_understood_is_named_and_the_comparison_starts_after_it() -> None:
    program = capture_partitioned("data parallel", "cpu")
    unknown = change_text(program, -2, "[{'rows'}, {}]}", "[{'rows'}, {}], unreduced={'other'}}")
    changes = numbers(unknown)
    assert changes.modules == 1
    [note] = changes.notes
    assert "because the sharding {mesh['rows'=4], [{'rows'}, {}], unreduced={'other'}} of x, f32[32,16], is not" in note
    assert "identical inputs" in note


def test_a_sharded_program_is_compared_with_eager_execution_and_with_another_target() -> None:
    function, args, mesh, specs = PROGRAMS["gathered weights"]
    changes = numbers(function, *args, target="cpu", mesh=mesh, specs=specs, against=["eager", "h100:4"])
    eager, other = changes.references
    assert (eager.absence, other.absence) == ("", "")
    for one in (eager, other):
        errors = [difference.relative for difference in (one.first, one.last) if difference]
        assert 0 < max(errors) < 1e-5
