"""The history of an instruction: its origin, changes, fusion and removal, independent of its name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.analysis import Histories

if TYPE_CHECKING:
    from xla_inspect.hlo import Instruction


def norm(x: jax.Array, w: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True))
    return (y @ w).T


EXAMPLE = (jax.ShapeDtypeStruct((256, 128), jnp.float32), jax.ShapeDtypeStruct((128, 64), jnp.float32))


@cache
def histories(target: str = "cpu") -> Histories:
    return Histories(capture(norm, *EXAMPLE, target=target))


def find(opcode: str, target: str = "cpu") -> Instruction:
    return next(instruction for instruction in histories(target).capture.module.walk() if instruction.opcode == opcode)


def test_an_instruction_of_the_program_is_followed_into_its_fusion() -> None:
    reduce = find("reduce")
    steps = histories().tell(reduce)
    assert [(step.deed, step.name) for step in steps] == [("imported", ""), ("fused", "dot-library-rewriter")]
    assert steps[-1].words.startswith("moved it into the fusion ynn_fusion")


def test_an_instruction_made_by_a_pass_names_its_origin() -> None:
    event = histories().find_first(find("rsqrt"))
    assert (event.deed, event.name) == ("made", "algsimp")
    assert {replacement.opcode for replacement in event.instead} <= {"sqrt", "divide", "multiply", "broadcast"}


def test_the_history_of_a_replaced_instruction_starts_before_the_replacement() -> None:
    rsqrt = find("rsqrt")
    whole, own = histories().tell_way(rsqrt), histories().tell(rsqrt)
    assert own[0].name == "reshape-mover"
    assert [step.name for step in whole][:2] == ["algsimp", "reshape-mover"]
    assert whole[-len(own) :] == own


def test_a_removed_instruction_is_reported_with_its_replacement() -> None:
    former = next(division for division in histories().capture.unoptimized_module.walk() if division.opcode == "divide")
    last = histories().tell(former)[-1]
    assert (last.deed, last.name) == ("removed", "algsimp")
    assert histories().finally_is(histories().locate(former)[0]) is None


def test_a_name_is_looked_up_in_the_latest_state_first() -> None:
    former = next(division for division in histories().capture.unoptimized_module.walk() if division.opcode == "divide")
    assert histories().find(former.name) is not None
    assert histories().find("no-such-instruction") is None


def test_a_fused_instruction_is_found_by_its_earlier_name() -> None:
    reduce = find("reduce")
    before = {reduction.name for reduction in histories().states[0].module.walk() if reduction.opcode == "reduce"}
    assert histories().names_at(0, [reduce]) <= before
    assert histories().names_at(0, [reduce]) != set()


@pytest.mark.usefixtures("all_targets")
def test_an_instruction_in_the_first_dump_of_a_pipeline_was_made_by_an_earlier_pass() -> None:
    def roll(x: jax.Array) -> jax.Array:
        return jnp.roll(x, 1)

    x = jax.ShapeDtypeStruct((64,), jnp.float32)
    histories = Histories(capture(roll, x, target="cpu:8", mesh={"data": 8}, specs=(jax.P("data"),)))
    exchange = next(permute for permute in histories.capture.module.walk() if permute.opcode == "collective-permute")
    assert histories.states[histories.tell(exchange)[0].state].name == "pipeline-start"
    assert histories.find_first(exchange).name == "spmd-partitioning"


@pytest.mark.usefixtures("all_targets")
def test_the_history_of_a_transpose_made_from_a_layout_copy_starts_with_the_copy() -> None:
    def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    example = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 32, 32, 16), (3, 3, 16, 32))]
    histories = Histories(capture(convolve, *example, target="h100"))
    (turned,) = (transpose for transpose in histories.capture.module.walk() if transpose.opcode == "transpose")
    way = [(step.deed, step.name, step.instruction.opcode) for step in histories.tell_way(turned)]
    assert way[:2] == [("made", "layout-assignment", "copy"), ("made", "algsimp", "transpose")]
