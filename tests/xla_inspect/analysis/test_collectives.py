"""Collectives of real modules for eight devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from programs import exchange, train_step
from xla_inspect import Capture, capture
from xla_inspect.analysis.collectives import is_cut_anew, list_collectives
from xla_inspect.analysis.device_groups import Mesh, read_groups, read_pairs
from xla_inspect.analysis.value_flow import ValueFlow
from xla_inspect.hlo import parse_module

EIGHT = ("cpu:8", "h100:8", "tpu-v5e:2x4")
ROWS = 512 * 512 * 4 // 8


def train(target: str, sharding: str) -> Capture:
    specs = train_step.SHARDINGS[sharding]
    return capture(train_step.train_step, *train_step.EXAMPLE, target=target, mesh={"x": 8}, specs=specs)


@pytest.mark.parametrize("target", EIGHT)
def test_each_collective_is_found_once_with_its_sent_bytes(target: str) -> None:
    program = capture(exchange.exchange, *exchange.EXAMPLE, target=target, mesh={"x": 8}, specs=exchange.SPECS)
    assert {one.kind: (one.operand_bytes, one.group, one.sent_bytes) for one in list_collectives(program.module)} == {
        "all-gather": (ROWS, 8, 7 * ROWS),
        "all-reduce": (ROWS, 8, 2 * ROWS * 7 // 8),
        "all-to-all": (ROWS, 8, ROWS * 7 // 8),
        "collective-permute": (ROWS, 8, ROWS),
        "reduce-scatter": (ROWS, 8, ROWS * 7 // 8),
    }
    assert len(list_collectives(program.module)) == 5


def test_the_steps_of_one_collective_count_once() -> None:
    module = train("tpu-v5e:2x4", "fully sharded").module
    gathers = [one for one in list_collectives(module) if one.kind == "all-gather" and one.is_async]
    assert len(gathers) == 2
    assert sum(one.opcode == "all-gather" for one in module.walk()) > 4


def test_an_all_reduce_fused_with_its_slice_is_distinguished_from_a_whole_one() -> None:
    kinds = [one.kind for one in list_collectives(train("tpu-v5e:2x4", "fully sharded").module)]
    assert (kinds.count("all-reduce-scatter"), kinds.count("all-reduce")) == (1, 2)


def test_a_collective_inside_an_asynchronous_computation_is_asynchronous() -> None:
    asynchronous = {one.kind: one.is_async for one in list_collectives(train("h100:8", "fully sharded").module)}
    assert (asynchronous["reduce-scatter"], asynchronous["all-to-all"]) == (True, False)


def test_a_group_may_be_one_axis_of_a_mesh() -> None:
    specs = (P("a", "b"),)
    program = capture(lambda x: x.sum(0), exchange.EXAMPLE[0], target="cpu:8", mesh={"a": 4, "b": 2}, specs=specs)
    assert [(one.kind, one.group) for one in list_collectives(program.module)] == [("all-reduce", 4)]


@pytest.mark.parametrize(
    ("groups", "size"),
    [
        ("{{0,1,2,3},{4,5,6,7}}", 4),
        ("[4,2]<=[8]", 2),
        ("[2,4]<=[4,2]T(1,0)", 4),
        ("{}", 8),
        ("mesh['a'=4,'b'=2] {'a','b'}", 8),
        ("mesh['a'=8] {'a':(2)4}", 4),
    ],
)
def test_groups_are_counted_in_each_form_that_xla_prints(groups: str, size: int) -> None:
    text = f"""HloModule m, num_partitions=8

ENTRY %main (x: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  ROOT %y = f32[8]{{0}} all-to-all(%x), channel_id=1, replica_groups={groups}, dimensions={{0}}
}}
"""
    (collective,) = list_collectives(parse_module(text))
    assert (collective.name, collective.kind, collective.operand_bytes, collective.group) == (
        "y",
        "all-to-all",
        32,
        size,
    )
    assert (collective.is_async, collective.runs, collective.within) == (False, 1, ())


@pytest.mark.parametrize(
    ("groups", "axes"),
    [
        ("{{0,2,4,6},{1,3,5,7}}", ("a",)),
        ("[4,2]<=[8]", ("b",)),
        ("[2,4]<=[4,2]T(1,0)", ("a",)),
        ("{}", ("a", "b")),
        ("mesh['axis_0'=8] {'axis_0'}", ("a", "b")),
        ("mesh['a'=4,'b'=2] {'b'}", ("b",)),
        ("mesh['a'=4,'b'=2] {'a':(2)2}", ("part of a",)),
        ("mesh['a'=4,'b'=2] {'a':(2)2,'b'}", ("part of a", "b")),
        ("{{0,3},{1,2},{4,7},{5,6}}", ()),
    ],
)
def test_groups_are_named_by_the_axes_of_the_mesh_in_each_form_that_xla_prints(
    groups: str, axes: tuple[str, ...]
) -> None:
    group_list = read_groups(groups, 8)
    assert group_list is not None
    assert sorted(device for group in group_list for device in group) == list(range(8))
    assert Mesh((("a", 4), ("b", 2))).name_axes(group_list) == axes


def test_a_mesh_whose_devices_are_in_another_order_names_the_axes_all_the_same() -> None:
    order = (0, 4, 1, 5, 2, 6, 3, 7)
    assert Mesh((("a", 4), ("b", 2)), order).name_axes(((0, 4), (1, 5), (2, 6), (3, 7))) == ("b",)


def test_pairs_are_named_by_the_axes_along_which_they_differ() -> None:
    mesh = Mesh((("a", 4), ("b", 2)))
    assert mesh.name_pairs([(0, 2), (2, 4), (4, 6), (6, 0)]) == ("a",)
    assert mesh.name_pairs([(0, 3)]) == ("a", "b")


def test_groups_in_an_unknown_form_are_reported_as_unknown() -> None:
    assert read_groups("something else", 8) is None
    assert read_groups("mesh['a'=4,'b'=2], device_ids=[2,4]T(1,0) {'b'}", 8) is None


@pytest.mark.parametrize("target", EIGHT)
@pytest.mark.parametrize(("start", "stop", "trips"), [(0, 6, 6), (3, 10, 7)])
def test_a_collective_in_a_loop_runs_as_often_as_the_loop_on_each_target(
    target: str, start: int, stop: int, trips: int
) -> None:
    def swing(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(start, stop, lambda _, x: jnp.tanh(x @ w.T) @ w, x)

    specs = (P("m"), P())
    shapes = jax.ShapeDtypeStruct((256, 512), jnp.float32), jax.ShapeDtypeStruct((64, 512), jnp.float32)
    program = capture(swing, *shapes, target=target, mesh={"m": 8}, specs=specs, passes=False)
    assert {one.runs for one in list_collectives(program.module)} == {trips}
    assert {len(one.within) for one in list_collectives(program.module)} == {1}


@pytest.mark.parametrize(("number", "is_cut"), [("%id", True), ("%layer", False)])
def test_a_slice_by_device_number_is_distinguished_from_a_slice_by_a_loop(number: str, *, is_cut: bool) -> None:
    text = f"""HloModule m, num_partitions=8

%cut (whole: f32[64], at: s32[]) -> f32[8] {{
  %whole = f32[64]{{0}} parameter(0)
  %at = s32[] parameter(1)
  ROOT %part = f32[8]{{0}} dynamic-slice(%whole, %at), dynamic_slice_sizes={{8}}
}}

ENTRY %main (x: f32[8], layer: s32[]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %layer = s32[] parameter(1)
  %partition = u32[] partition-id()
  %id = s32[] convert(%partition)
  %eight = s32[] constant(8)
  %place = s32[] multiply({number}, %eight)
  %all = f32[64]{{0}} all-gather(%x), channel_id=1, replica_groups=[1,8]<=[8], dimensions={{0}}
  ROOT %fused = f32[8]{{0}} fusion(%all, %place), kind=kLoop, calls=%cut
}}
"""
    module = parse_module(text)
    (collective,) = list_collectives(module)
    assert is_cut_anew(ValueFlow(module), collective) == is_cut


WRITTEN = """HloModule m, replica_count=2, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[16] parameter(0)
  n = s32[4] parameter(1)
  t = token[] after-all()
  sum = f32[16] all-reduce(x), replica_groups={}, to_apply=add
  part = ((f32[16]), f32[4]) reduce-scatter-start(x), dimensions={0}, replica_groups={{0,1,2,3}}, to_apply=add
  parted = f32[4] reduce-scatter-done(part)
  rows = f32[32] ragged-all-to-all(x, parted, n, n, n, n), replica_groups={{0,1,2,3}}
  there = (f32[16], u32[], token[]) send(x, t), frontend_attributes={_xla_send_recv_source_target_pairs={{0, 1},{1,2}}}
  host = (f32[16], u32[], token[]) send(x, t), is_host_transfer=true
}
"""


def test_a_collective_is_counted_in_each_form_in_which_it_is_written() -> None:
    collectives = list_collectives(parse_module(WRITTEN))
    assert {one.name: (one.kind, one.operand_bytes, one.group, one.is_async) for one in collectives} == {
        "sum": ("all-reduce", 64, 4, False),
        "part": ("reduce-scatter", 64, 4, True),
        "rows": ("ragged-all-to-all", 64, 4, False),
        "there": ("collective-permute", 64, 4, True),
    }
    assert read_pairs(collectives[-1].instruction) == ((0, 1), (1, 2))
