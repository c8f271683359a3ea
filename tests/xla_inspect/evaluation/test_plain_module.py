"""Modules of other targets are rewritten without asynchronous pairs and mixed types, and keep their meaning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect.evaluation.plain_lines import UnknownOperationError
from xla_inspect.evaluation.plain_module import write_plain
from xla_inspect.hlo import Module, parse_module

from .reference import assert_same, run

if TYPE_CHECKING:
    from xla_inspect.evaluation import Evaluator

    from .reference import Value

X = np.float32([[1, -2, 3], [4, 5, -6]])


SUM = """%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}
"""


def make_module(body: str, others: str = "") -> Module:
    """Return a module from the lines of its entry computation and other computations."""
    return parse_module(f"HloModule m\n{others}\nENTRY %main () -> f32[] {{\n{body}\n}}\n")


def test_a_copy_to_another_memory_is_a_copy(evaluator: Evaluator) -> None:
    module = make_module("""
      %x = f32[2,3]{1,0:T(2,128)} parameter(0)
      %start = (f32[2,3]{1,0:T(2,128)S(1)}, f32[2,3]{1,0:T(2,128)}, u32[]{:S(2)}) copy-start(%x)
      ROOT %done = f32[2,3]{1,0:T(2,128)S(1)} copy-done(%start)""")
    [actual] = run(evaluator, module, X)
    np.testing.assert_array_equal(actual, X)


def test_an_asynchronous_slice_is_a_slice(evaluator: Evaluator) -> None:
    module = make_module("""
      %x = f32[2,3]{1,0} parameter(0)
      %start = ((f32[2,3]{1,0}), f32[1,2]{1,0:S(1)}, s32[]) slice-start(%x), slice={[1:2], [0:2]}
      ROOT %done = f32[1,2]{1,0:S(1)} slice-done(%start)""")
    [actual] = run(evaluator, module, X)
    np.testing.assert_array_equal(actual, X[1:2, :2])


def test_an_asynchronous_fusion_is_a_call(evaluator: Evaluator) -> None:
    inside = """%inside (a: f32[4,2,3], i: s32[], b: f32[2,3]) -> f32[4,2,3] {
  %a = f32[4,2,3]{2,1,0} parameter(0)
  %i = s32[] parameter(1)
  %b = f32[2,3]{1,0} parameter(2)
  %zero = s32[] constant(0)
  %row = f32[1,2,3]{2,1,0} bitcast(%b)
  ROOT %c = f32[4,2,3]{2,1,0} dynamic-update-slice(%a, %row, %i, %zero, %zero)
}
"""
    whole = "f32[4,2,3]{2,1,0}"
    module = make_module(
        f"""
      %x = {whole} parameter(0)
      %i = s32[] parameter(1)
      %y = f32[2,3]{{1,0}} parameter(2)
      %start = (({whole}, s32[], f32[2,3]{{1,0}}), {whole}, u32[]) fusion-start(%x, %i, %y), kind=kLoop, calls=%inside
      ROOT %done = {whole} fusion-done(%start)""",
        inside,
    )
    zeros = np.zeros((4, 2, 3), np.float32)
    [actual] = run(evaluator, module, zeros, np.int32(2), X)
    np.testing.assert_array_equal(actual[2], X)
    np.testing.assert_array_equal(np.delete(actual, 2, 0), zeros[:3])


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"])
def test_products_of_eight_bit_floats_are_added_in_float32(evaluator: Evaluator, kind: str) -> None:
    dtype = np.dtype(kind)
    name = kind.replace("float8_", "f8")
    module = make_module(f"""
      %x = {name}[2,3]{{1,0}} parameter(0)
      %y = {name}[3,2]{{1,0}} parameter(1)
      ROOT %z = f32[2,2]{{1,0}} dot(%x, %y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}""")
    [actual] = run(evaluator, module, X.astype(dtype), X.T.astype(dtype))
    np.testing.assert_array_equal(actual, X.astype(dtype).astype(np.float32) @ X.T.astype(dtype).astype(np.float32))


def test_a_product_with_a_result_of_eight_bits_is_rounded_once(evaluator: Evaluator) -> None:
    dtype, generator = np.dtype("float8_e4m3fn"), np.random.default_rng(0)
    x, y = (generator.standard_normal(shape).astype(dtype) for shape in ((16, 64), (64, 16)))
    module = make_module("""
      %x = f8e4m3fn[16,64]{1,0} parameter(0)
      %y = f8e4m3fn[64,16]{1,0} parameter(1)
      ROOT %z = f8e4m3fn[16,16]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""")
    [actual] = run(evaluator, module, x, y)
    assert actual.tobytes() == (x.astype(np.float32) @ y.astype(np.float32)).astype(dtype).tobytes()


def test_an_asynchronous_sum_over_devices_is_a_sum(evaluator: Evaluator) -> None:
    groups = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true"
    module = make_module(f"""
      %x = f32[2,3]{{1,0}} parameter(0)
      %start = f32[2,3]{{1,0}} all-reduce-start(%x), {groups}, to_apply=%sum
      ROOT %end = f32[2,3]{{1,0}} all-reduce-done(%start)""", SUM)  # fmt: skip
    [results] = evaluator.run(module, [[X, 10 * X]])
    for actual in results:
        np.testing.assert_array_equal(actual, 11 * X)


def test_an_asynchronous_call_with_an_update_is_a_call(evaluator: Evaluator) -> None:
    called = "%double (a: f32[2,3]) -> f32[2,3] {\n %a = f32[2,3] parameter(0)\n ROOT %b = f32[2,3] add(%a, %a)\n}\n"
    module = make_module("""
      %x = f32[2,3]{1,0} parameter(0)
      %start = ((f32[2,3]{1,0}), f32[2,3]{1,0}, s32[]) async-start(%x), async_execution_thread="other", calls=%double
      %update = ((f32[2,3]{1,0}), f32[2,3]{1,0}, s32[]) async-update(%start)
      ROOT %done = f32[2,3]{1,0} async-done(%update)""", called)  # fmt: skip
    [actual] = run(evaluator, module, X)
    np.testing.assert_array_equal(actual, 2 * X)


def test_a_start_with_another_user_is_rejected_by_name() -> None:
    module = make_module("""
      %x = f32[2,3]{1,0} parameter(0)
      %start = (f32[2,3]{1,0}, f32[2,3]{1,0}, u32[]) copy-start(%x)
      %done = f32[2,3]{1,0} copy-done(%start)
      %other = f32[2,3]{1,0} get-tuple-element(%start), index=0
      ROOT %sum = f32[2,3]{1,0} add(%done, %other)""")
    with pytest.raises(
        UnknownOperationError, match="start: another instruction than its end uses the result of copy-start"
    ):
        write_plain(module)


@pytest.mark.parametrize("opcode", ["send", "recv"])
def test_an_exchange_with_another_program_is_rejected_by_name(opcode: str) -> None:
    operands = "%x, %token" if opcode == "send" else "%token"
    result = "token[]" if opcode == "send" else "(f32[2,3]{1,0}, token[])"
    module = make_module(f"""
      %x = f32[2,3]{{1,0}} parameter(0)
      %token = token[] after-all()
      %exchange = (f32[2,3]{{1,0}}, u32[], token[]) {opcode}({operands}), channel_id=1, is_host_transfer=true
      %exchange-done = {result} {opcode}-done(%exchange), channel_id=1, is_host_transfer=true
      ROOT %y = f32[2,3]{{1,0}} add(%x, %x)""")
    with pytest.raises(
        UnknownOperationError, match=f"exchange: {opcode} exchanges data with a program that is not known"
    ):
        write_plain(module)


@pytest.mark.parametrize("operation", ["rng(%x, %x), distribution=rng_uniform", "rng-get-and-update-state(), delta=1"])
def test_random_numbers_from_a_state_outside_of_the_module_are_rejected_by_name(operation: str) -> None:
    module = make_module(f"%x = f32[] parameter(0)\n ROOT %random = f32[2] {operation}")
    with pytest.raises(UnknownOperationError, match=r"^random: the result of rng[a-z-]* depends on data or on a state"):
        write_plain(module)


def test_a_product_of_two_types_runs_in_the_wider_one(evaluator: Evaluator) -> None:
    module = make_module("""
      %a = f8e4m3fn[4,4]{1,0} parameter(0)
      ROOT %b = f32[4,4]{1,0} dot(%a, %a), lhs_contracting_dims={1}, rhs_contracting_dims={0}""")
    [[result]] = evaluator.run(module, [[np.full((4, 4), 448, jnp.float8_e4m3fn)]])
    assert (result == 4 * 448**2).all()


def test_an_operation_of_two_types_is_rounded_once(evaluator: Evaluator) -> None:
    module = make_module("""
      %a = bf16[3]{0} parameter(0)
      %b = f32[3]{0} parameter(1)
      %largest = f32[3]{0} maximum(%a, %b)
      %sum = bf16[3]{0} add(%a, %b)
      ROOT %both = (f32[3]{0}, bf16[3]{0}) tuple(%largest, %sum)""")
    a, b = np.float32([1, -2, np.nan]).astype(jnp.bfloat16), np.float32([1 + 2**-9, -3, 1])
    largest, total = run(evaluator, module, a, b)
    wide = a.astype(np.float32)
    assert_same(largest, np.maximum(wide, b))
    assert_same(total.astype(np.float32), (wide + b).astype(jnp.bfloat16).astype(np.float32))


def test_a_reduction_adds_in_the_type_of_its_function(evaluator: Evaluator) -> None:
    module = make_module("""
      %x = bf16[3]{0} parameter(0)
      %zero = f32[] constant(0)
      ROOT %y = bf16[] reduce(%x, %zero), dimensions={0}, to_apply=%sum""", SUM)  # fmt: skip
    [actual] = run(evaluator, module, np.float32([256, 1, 1]).astype(jnp.bfloat16))
    # Rounded after each addition, the sum would remain 256.
    assert actual == np.float32(258)


@pytest.mark.parametrize("opcode", ["dot", "convolution"])
def test_sums_of_products_of_small_types_are_rounded_once(opcode: str, evaluator: Evaluator) -> None:
    fields = "lhs_contracting_dims={1}, rhs_contracting_dims={0}" if opcode == "dot" else "dim_labels=bf_io->bf"
    module = make_module(f"""
      %x = bf16[1,3]{{1,0}} parameter(0)
      %y = bf16[3,1]{{1,0}} parameter(1)
      ROOT %z = bf16[1,1]{{1,0}} {opcode}(%x, %y), {fields}""")
    x, y = np.float32([[256, 1, 1]]).astype(jnp.bfloat16), np.ones((3, 1), jnp.bfloat16)
    [actual] = run(evaluator, module, x, y)
    assert actual == np.float32([[258]])


@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_a_high_product_is_the_upper_half(dtype: Value, evaluator: Evaluator) -> None:
    kind = "su"[dtype is np.uint32] + "32"
    module = make_module(f"""
      %a = {kind}[6]{{0}} parameter(0)
      %b = {kind}[6]{{0}} parameter(1)
      ROOT %high = {kind}[6]{{0}} mulhi(%a, %b)""")
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, limits.max, limits.min, 65536, 3], dtype)
    b = np.array([limits.max, limits.max, 2, limits.min, 65536, 5], dtype)
    [actual] = run(evaluator, module, a, b)
    np.testing.assert_array_equal(actual, [int(one) * int(other) >> 32 for one, other in zip(a, b, strict=True)])
    assert actual.dtype == dtype


def test_a_fusion_is_a_call_of_its_computation(evaluator: Evaluator) -> None:
    fused = (
        "%fused (a: f32[2,3]) -> f32[2,3] {\n %a = f32[2,3]{1,0} parameter(0)\n ROOT %b = f32[2,3]{1,0} negate(%a)\n}\n"
    )
    module = make_module("""
      %x = f32[2,3]{1,0:T(2,128)} parameter(0)
      ROOT %fusion = f32[2,3]{1,0:T(2,128)} fusion(%x), kind=kLoop, calls=%fused""", fused)  # fmt: skip
    assert re.search(r"ROOT %fusion = f32\[2,3\] call\(%x\), to_apply=%fused$", write_plain(module), re.MULTILINE)
    for fusions in (False, True):
        [[actual]] = evaluator.run(module, [[X]], is_cpu=fusions)
        np.testing.assert_array_equal(actual, -X)


def test_a_barrier_is_its_operand(evaluator: Evaluator) -> None:
    module = make_module("""
      %x = f32[2,3]{1,0} parameter(0)
      %pair = (f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(%x, %x)
      %barrier = (f32[2,3]{1,0}, f32[2,3]{1,0}) opt-barrier(%pair)
      %one = f32[2,3]{1,0} get-tuple-element(%barrier), index=0
      ROOT %negated = f32[2,3]{1,0} negate(%one)""")
    assert "barrier" not in write_plain(module)
    [actual] = run(evaluator, module, X)
    np.testing.assert_array_equal(actual, -X)


def test_a_barrier_at_the_end_leaves_its_operand_as_the_result(evaluator: Evaluator) -> None:
    module = make_module("""
      %x = f32[2,3]{1,0} parameter(0)
      %negated = f32[2,3]{1,0} negate(%x)
      ROOT %barrier = f32[2,3]{1,0} opt-barrier(%negated)""")
    [actual] = run(evaluator, module, X)
    np.testing.assert_array_equal(actual, -X)


def test_a_constant_with_a_layout_keeps_its_values(evaluator: Evaluator) -> None:
    module = make_module("""
      %c = f32[2,2]{0,1} constant({ { 1, -0 }, { inf, nan } })
      ROOT %y = f32[2,2]{0,1} negate(%c)""")
    [actual] = run(evaluator, module)
    assert_same(actual, np.float32([[-1, 0], [-np.inf, np.nan]]))


@pytest.mark.parametrize(("rounds_sums", "expected"), [(False, 4096), (True, 256)])
def test_a_sum_of_a_small_type_is_rounded_once_only_on_a_tpu(
    evaluator: Evaluator, *, rounds_sums: bool, expected: float
) -> None:
    text = """HloModule m

%add {
  %a = bf16[] parameter(0)
  %b = bf16[] parameter(1)
  ROOT %c = bf16[] add(%a, %b)
}

ENTRY %e {
  %x = bf16[4096] parameter(0)
  %zero = bf16[] constant(0)
  ROOT %sum = bf16[] reduce(%x, %zero), dimensions={0}, to_apply=%add
}
"""
    ones = np.ones(4096, jnp.bfloat16)
    [[actual]] = evaluator.run(parse_module(text), [[ones]], rounds_sums=rounds_sums)
    # Above 256, adding 1 changes no number of this type.
    assert float(actual) == expected
