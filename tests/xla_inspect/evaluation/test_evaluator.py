"""The evaluator runs modules on several simulated devices, and goes on after a crash or a module without an end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xla_inspect.evaluation.evaluator import Evaluator, NotRunError
from xla_inspect.hlo import Module, parse_module
from xla_inspect.process import Child

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 30
"""The seconds after which a module must have been stopped, also on a busy machine."""
X = np.float32([[1, -2, 3], [4, 5, -6]])
DOUBLE = """HloModule m

ENTRY %main () -> f32[] {
  %x = f32[2,3]{1,0} parameter(0)
  ROOT %y = f32[2,3]{1,0} add(%x, %x)
}
"""
SUM = """%sum (a: s32[], b: s32[]) -> s32[] {
  %a = s32[] parameter(0)
  %b = s32[] parameter(1)
  ROOT %c = s32[] add(%a, %b)
}
"""


def make_collective(operation: str, size: int, result: int) -> Module:
    """Return a module that applies a collective operation to a vector on each device."""
    return parse_module(
        f"HloModule m\n{SUM}\nENTRY %main () -> s32[] {{\n  %x = s32[{size}]{{0}} parameter(0)\n"
        f"  ROOT %y = s32[{result}]{{0}} {operation}\n}}\n"
    )


def make_shards(devices: int, size: int) -> list[np.ndarray]:
    """Return a vector for each device, with no number twice."""
    return [*np.arange(1, devices * size + 1, dtype=np.int32).reshape(devices, size) ** 2]


@pytest.mark.parametrize("devices", [4, 8])
def test_each_device_contributes_its_own_values(devices: int, evaluator: Evaluator) -> None:
    shards = make_shards(devices, 8)
    table = np.stack(shards)
    group = f"channel_id=1, replica_groups={{{{{','.join(map(str, range(devices)))}}}}}"
    everyone = f"{group}, use_global_device_ids=true"
    pairs = ",".join(f"{{{device},{(device + 1) % devices}}}" for device in range(devices))
    blocks = table.reshape(devices, devices, -1)
    for operation, expected in {
        f"all-reduce(%x), {everyone}, to_apply=%sum": np.tile(table.sum(0), (devices, 1)),
        f"all-gather(%x), {everyone}, dimensions={{0}}": np.tile(table.ravel(), (devices, 1)),
        f"reduce-scatter(%x), {everyone}, dimensions={{0}}, to_apply=%sum": table.sum(0).reshape(devices, -1),
        f"all-to-all(%x), {group}, dimensions={{0}}": blocks.transpose(1, 0, 2).reshape(devices, 8),
        f"collective-permute(%x), channel_id=1, source_target_pairs={{{pairs}}}": np.roll(table, 1, 0),
    }.items():
        module = make_collective(operation, 8, expected.shape[1])
        [results] = evaluator.run(module, [shards])
        np.testing.assert_array_equal(np.stack(results), expected, err_msg=operation)


def test_devices_outside_a_permutation_get_zeros(evaluator: Evaluator) -> None:
    shards = make_shards(4, 3)
    module = make_collective("collective-permute(%x), channel_id=1, source_target_pairs={{0,2},{3,0}}", 3, 3)
    [results] = evaluator.run(module, [shards])
    zeros = np.zeros(3, np.int32)
    np.testing.assert_array_equal(np.stack(results), [shards[3], zeros, shards[0], zeros])


def test_groups_of_devices_work_apart(evaluator: Evaluator) -> None:
    shards = make_shards(4, 2)
    groups = "channel_id=1, replica_groups={{0,3},{2,1}}, use_global_device_ids=true"
    [sums] = evaluator.run(make_collective(f"all-reduce(%x), {groups}, to_apply=%sum", 2, 2), [shards])
    outer, inner = shards[0] + shards[3], shards[1] + shards[2]
    np.testing.assert_array_equal(np.stack(sums), [outer, inner, inner, outer])
    [joined] = evaluator.run(make_collective(f"all-gather(%x), {groups}, dimensions={{0}}", 2, 4), [shards])
    np.testing.assert_array_equal(joined[1], np.concatenate([shards[2], shards[1]]))


def test_each_device_knows_its_number(evaluator: Evaluator) -> None:
    module = parse_module(
        "HloModule m\n\nENTRY %main () -> u32[] {\n  %x = u32[]{:T(128)} parameter(0)\n  %id = u32[] partition-id()\n"
        "  ROOT %y = u32[] add(%x, %id)\n}\n"
    )
    [results] = evaluator.run(module, [[np.uint32(10)] * 4])
    assert [int(result) for result in results] == [10, 11, 12, 13]


def test_a_module_with_an_error_is_reported_and_the_next_one_runs(evaluator: Evaluator) -> None:
    wrong = parse_module(DOUBLE.replace("add(%x, %x)", "add(%x)"))
    with pytest.raises(NotRunError, match="expects 2 operands"):
        evaluator.run(wrong, [[X]])
    assert_runs(evaluator)


def test_an_equal_module_runs_again_with_other_passes(evaluator: Evaluator) -> None:
    text = (
        "HloModule m\n\nENTRY %main {\n  %x = f32[1,1] parameter(0)\n  ROOT %y = f32[1,1] cholesky(%x), lower=true\n}\n"
    )
    arguments = [[np.float32([[4]])]]
    assert evaluator.run_text(text, arguments) == [[2]]
    with pytest.raises(NotRunError, match="cholesky"):
        evaluator.run_text(text, arguments, ["copy-insertion"])


@pytest.fixture(scope="module")
def impatient() -> Iterator[Evaluator]:
    """An evaluator that stops a module after some seconds, in which its process can start too."""
    with Evaluator(seconds=6) as evaluator:
        yield evaluator


def test_a_module_that_crashes_the_process_is_reported_and_the_next_one_runs(impatient: Evaluator) -> None:
    # This call of the CPU writes far beyond its buffers.
    text = """HloModule m

ENTRY %main {
  %x = f32[2] parameter(0)
  ROOT %y = (f32[1000000], s32[1000000]) custom-call(%x), custom_call_target="TopK"
}
"""
    with pytest.raises(NotRunError, match=r"XLA crashed \(signal SIGSEGV"):
        impatient.run_text(text, [[np.float32([1, 2])]])
    assert_runs(impatient)


def test_a_loop_without_an_end_is_stopped_and_the_next_module_runs(impatient: Evaluator) -> None:
    def wait(x: jax.Array) -> jax.Array:
        return lax.while_loop(lambda y: jnp.all(y > 0), lambda y: y * y, x)

    computation = jax.jit(wait).lower(X).compiler_ir("hlo")
    start = time.monotonic()
    with pytest.raises(NotRunError, match="it took more than 6 seconds"):
        impatient.run(parse_module(computation.as_hlo_text()), [[np.ones_like(X)]])
    assert time.monotonic() - start < LONGEST
    assert_runs(impatient)


def test_a_pause_between_modules_does_not_count_as_their_time(impatient: Evaluator) -> None:
    assert_runs(impatient)
    time.sleep(6.5)
    assert_runs(impatient)


def test_a_process_that_is_stopped_as_a_module_arrives_starts_again(
    impatient: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_runs(impatient)
    send = Child.send

    def stop_first(child: Child, line: str) -> None:
        monkeypatch.undo()
        child.excess = "time"
        child.kill()
        send(child, line)

    monkeypatch.setattr(Child, "send", stop_first)
    assert_runs(impatient)


def assert_runs(evaluator: Evaluator) -> None:
    [[actual]] = evaluator.run(parse_module(DOUBLE), [[X]])
    np.testing.assert_array_equal(actual, 2 * X)
