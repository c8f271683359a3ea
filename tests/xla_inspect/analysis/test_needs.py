"""The elements that launches need of their operands, compared with those that affect the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xla_inspect import capture
from xla_inspect.analysis import list_launches, measure_traffic
from xla_inspect.analysis.needs import count_operands
from xla_inspect.hlo import parse_module
from xla_inspect.report import model_launches

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture

ROWS, COLUMNS = 40, 6
TABLE = jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32)
FEW = jax.ShapeDtypeStruct((5,), jnp.int32)
ONE = jax.ShapeDtypeStruct((), jnp.int32)

# Each is linear in its table, so that its Jacobian is zero where the result does not depend on an element.
READERS: dict[str, Callable[..., jax.Array]] = {
    "rows": lambda x, i: x[i],
    "the sum of rows": lambda x, i: x[i].sum(0),
    "rows or zero": lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=0.0),
    "rows, clipped": lambda x, i: jnp.take(x, i, axis=0, mode="clip") * 2,
    "columns of rows": lambda x, i: x[i][:, 1:3],
    "along an axis": lambda x, i: jnp.take_along_axis(x, jnp.tile(i[:, None] % COLUMNS, (8, 2)), axis=1),
    "a batch of rows": lambda x, i: jax.vmap(lambda part, at: part[at % 8])(x.reshape(5, 8, COLUMNS), i),
    "every second row": lambda x, i: x[::2] + i[0],
    "neighbours": lambda x, i: x[1:11] + x[:10] * i[0],
    "distant rows": lambda x, i: x[3:5] + x[30:32] + i[0],
    "a dynamic slice": lambda x, i: lax.dynamic_slice(x, (i[0], 0), (3, COLUMNS)) * 2,
    "padded rows": lambda x, i: jnp.pad(x[:4], ((3, 2), (0, 0))) * i[0],
    "cropped rows": lambda x, i: lax.pad(x, 0.0, ((-5, 2, 0), (1, -2, 1))) * i[0],
    "joined rows": lambda x, i: jnp.concatenate([x[:4], x[20:22] * i[0], jnp.ones((3, COLUMNS))]) * 2,
    "reversed rows": lambda x, i: x[:7][::-1] * i[0],
    "sums of a block": lambda x, i: x[:8].sum(1) * i[0],
    "everything": lambda x, i: x * 2 + i[0],
}
INDICES = [np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.array([3, 39, 3, 17, 0], np.int32)]


def count_read(capture: Capture) -> tuple[int, int]:
    """Return the elements of the first argument that all launches request, and the least that they need."""
    (table,) = (value for value in capture.module.entry.parameters if value.parameter_number == 0)
    requested = least = 0
    for launch in list_launches(capture):
        kernel = launch.instruction
        needs = count_operands(capture.module, kernel, kernel.shape.size)
        for name, need in zip(kernel.operands, needs, strict=True):
            if name == table.name:
                requested, least = requested + need.asked, least + need.least
    return requested, least


@pytest.mark.parametrize("target", ["cpu", "h100"])
@pytest.mark.parametrize("name", READERS)
def test_the_least_is_at_most_and_the_request_at_least_what_results_depend_on(name: str, target: str) -> None:
    function = READERS[name]
    requested, least = count_read(capture(function, TABLE, FEW, target=target, passes=False))
    table = jnp.ones(TABLE.shape, TABLE.dtype)
    rows_read = [
        int(jnp.any(jnp.reshape(jax.jacobian(function)(table, at + 1), (-1, table.size)) != 0, axis=0).sum())
        for at in INDICES
    ]
    assert least <= min(rows_read)
    assert max(rows_read) <= requested <= table.size
    # Where no index has a say, both are exact; a crop is a slice of a padding, through which no block passes.
    if len(set(rows_read)) == 1 and name not in {"along an axis", "a batch of rows", "cropped rows"}:
        assert least == requested == rows_read[0]


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize(
    ("function", "rows", "updated"),
    [
        (lambda x, i, y: x.at[i].set(y), 0, 5),
        (lambda x, i, y: x.at[i].add(y), 5, 5),
        (lambda x, i, y: x.at[i].max(y), 5, 5),
        (lambda x, i, y: lax.dynamic_update_slice(x, y, (i[0], 0)), 0, 5),
        (lambda x, _, y: x.at[3:8].set(y), 0, 5),
    ],
    ids=["set", "add", "max", "a slice", "a block"],
)
def test_a_donated_array_is_read_and_written_where_it_is_updated(
    function: Callable[..., jax.Array], rows: int, updated: int, target: str
) -> None:
    big = jax.ShapeDtypeStruct((100_000, 128), jnp.float32)
    part = jax.ShapeDtypeStruct((5, 128), jnp.float32)
    program = capture(function, big, FEW, part, target=target, donate_argnums=0, passes=False)
    row = 128 * 4
    traffics = [measure_traffic(program.module, launch.instruction) for launch in list_launches(program)]
    last = traffics[-1]
    assert last.written[0] == updated * row
    assert (rows + updated) * row <= last.read.total() <= (rows + updated) * row + 64
    assert sum(traffic.main for traffic in traffics) < 100 * row
    assert all(traffic.least <= traffic.main for traffic in traffics)


def test_without_donation_the_whole_array_is_copied_first() -> None:
    big = jax.ShapeDtypeStruct((1000, 128), jnp.float32)
    part = jax.ShapeDtypeStruct((5, 128), jnp.float32)
    program = capture(lambda x, i, y: x.at[i].set(y), big, FEW, part, target="h100", passes=False)
    traffics = {launch.kind: measure_traffic(program.module, launch.instruction) for launch in list_launches(program)}
    assert traffics["copy"].main == traffics["copy"].least == 2 * 1000 * 128 * 4


def test_the_gradient_of_an_embedding_is_written_whole_and_its_rows_are_added() -> None:
    table = jax.ShapeDtypeStruct((100_000, 128), jnp.float32)

    def loss(weights: jax.Array, ids: jax.Array) -> jax.Array:
        return jnp.sum(weights[ids] ** 2)

    program = capture(jax.grad(loss), table, FEW, target="h100", passes=False)
    zeros, rows = (measure_traffic(program.module, launch.instruction) for launch in list_launches(program))
    assert zeros.main == zeros.least == 100_000 * 128 * 4
    # Five rows of the table, and five of the gradient read and written.
    assert rows.main == 3 * 5 * 128 * 4 + 5 * 4


def test_an_update_of_a_value_computed_in_the_same_fusion_writes_the_whole_array() -> None:
    module = parse_module("""\
HloModule m

%fused (u: f32[1,4], i: s32[]) -> f32[8,4] {
  %u = f32[1,4]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %zero = f32[] constant(0)
  %new = f32[8,4]{1,0} broadcast(%zero), dimensions={}
  ROOT %r = f32[8,4]{1,0} dynamic-update-slice(%new, %u, %i, %i)
}

ENTRY %main (y: f32[1,4], i: s32[]) -> f32[8,4] {
  %y = f32[1,4]{1,0} parameter(0)
  %i = s32[] parameter(1)
  ROOT %f = f32[8,4]{1,0} fusion(%y, %i), kind=kLoop, calls=%fused
}
""")
    traffic = measure_traffic(module, module.entry.root)
    assert (traffic.read[0], traffic.written[0], traffic.least) == (16 + 4, 128, 148)


NESTED = """\
HloModule m

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%inner (t: f32[8,4], i: s32[2,1], u: f32[2,4]) -> f32[8,4] {
  %t = f32[8,4]{1,0} parameter(0)
  %i = s32[2,1]{1,0} parameter(1)
  %u = f32[2,4]{1,0} parameter(2)
  ROOT %s = f32[8,4]{1,0} scatter(%t, %i, %u), DIMENSIONS, to_apply=%add
}

%outer (t: f32[8,4], i: s32[2,1], u: f32[2,4]) -> f32[8,4] {
  %t = f32[8,4]{1,0} parameter(0)
  %i = s32[2,1]{1,0} parameter(1)
  %u = f32[2,4]{1,0} parameter(2)
  ROOT %n = f32[8,4]{1,0} fusion(%t, %i, %u), kind=kCustom, calls=%inner
}

ENTRY %main (t: f32[8,4], i: s32[2,1], u: f32[2,4]) -> f32[8,4] {
  %t = f32[8,4]{1,0} parameter(0)
  %i = s32[2,1]{1,0} parameter(1)
  %u = f32[2,4]{1,0} parameter(2)
  ROOT %f = f32[8,4]{1,0} fusion(%t, %i, %u), kind=kCustom, calls=%outer
}
""".replace(
    "DIMENSIONS",
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
)


def test_a_fusion_within_a_fusion_updates_the_array_of_the_outer_one() -> None:
    module = parse_module(NESTED)
    traffic = measure_traffic(module, module.entry.root)
    # Two rows asked for, which may be the same one; two indices; two rows of updates.
    assert (traffic.read[0], traffic.written[0]) == (32 + 8 + 32, 32)
    assert traffic.least == (16 + 8 + 32) + 16


def test_indices_that_are_stated_to_be_unique_name_as_many_rows_as_there_are() -> None:
    module = parse_module(NESTED.replace("index_vector_dim=1,", "index_vector_dim=1, unique_indices=true,"))
    traffic = measure_traffic(module, module.entry.root)
    assert traffic.least == traffic.main == (32 + 8 + 32) + 32


def test_an_update_that_is_used_within_its_fusion_reads_the_rest_of_the_array() -> None:
    text = NESTED.replace("ROOT %n = f32[8,4]{1,0} fusion", "%n = f32[8,4]{1,0} fusion").replace(
        "calls=%inner\n}", "calls=%inner\n  ROOT %e = f32[8,4]{1,0} negate(%n)\n}", 1
    )
    module = parse_module(text)
    traffic = measure_traffic(module, module.entry.root)
    assert (traffic.read[0], traffic.written[0]) == (128 + 8 + 32, 128)


def test_a_custom_kernel_has_no_minimum_of_read_elements() -> None:
    text = """\
HloModule m

ENTRY %main (x: f32[8,4]) -> f32[2,4] {
  %x = f32[8,4]{1,0} parameter(0)
  ROOT %c = f32[2,4]{1,0} custom-call(%x), custom_call_target="TARGET"
}
"""
    for target, least in (("tpu_custom_call", 32), ("__cublas$gemm", 128 + 32)):
        module = parse_module(text.replace("TARGET", target))
        traffic = measure_traffic(module, module.entry.root)
        assert (traffic.main, traffic.least) == (128 + 32, least)


def test_gathering_two_rows_of_a_million_takes_almost_no_time() -> None:
    table = jax.ShapeDtypeStruct((1_000_000, 100), jnp.float32)
    ids = jax.ShapeDtypeStruct((2,), jnp.int32)
    program = capture(lambda x, i: x[i], table, ids, target="h100", passes=False)
    (launch,) = model_launches(program)
    assert (launch.read, launch.written) == (800 + 8, 800)
    assert launch.bound is not None
    assert launch.bound.seconds < 1e-9
