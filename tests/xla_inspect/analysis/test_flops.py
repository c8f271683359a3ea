"""Floating-point operations are counted by the rules of XLA's cost analysis, with intended exceptions."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from programs import attention, layer, layernorm, softmax, train_step, transformer_block_grad
from programs import control_flow as loops
from xla_inspect import capture, capture_all, jax_private
from xla_inspect.analysis.flops import Count, Work
from xla_inspect.hlo import parse_module

# XLA adds up in float32, which has 24 bits.
ROUNDING = 2**-20

COMPUTATIONS = {
    "add": """
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %r = f32[] add(%x, %y)
}
""",
    "less": """
%less (x: f32[], y: f32[]) -> pred[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %r = pred[] compare(%x, %y), direction=LT
}
""",
    "branches": """
%a (x: f32[8]) -> f32[8] {
  %x = f32[8] parameter(0)
  ROOT %r = f32[8] sine(%x)
}

%b (x: f32[8]) -> f32[8] {
  %x = f32[8] parameter(0)
  ROOT %r = f32[8] add(%x, %x)
}
""",
    "step": """
%step (c: f32[8], x: f32[8]) -> (f32[8], f32[8]) {
  %c = f32[8] parameter(0)
  %x = f32[8] parameter(1)
  %s = f32[8] add(%c, %x)
  ROOT %t = (f32[8], f32[8]) tuple(%s, %s)
}
""",
}


def read(root: str, *operands: str, computations: str = "") -> str:
    names = [f"%p{number}" for number in range(len(operands))]
    lines = "".join(
        f" {name} = {shape} parameter({n})\n" for n, (name, shape) in enumerate(zip(names, operands, strict=True))
    )
    return f"HloModule m\n\n{computations}\nENTRY %main {{\n{lines} ROOT %r = {root}\n}}\n"


def count(text: str) -> Work:
    module = parse_module(text)
    return Count(module).computation(module.entry)


def expect_the_same(text: str) -> None:
    counted_work, reference = count(text), jax_private.count_work(text)
    expected = reference.get("flops", 0), reference.get("transcendentals", 0)
    assert (counted_work.flops, counted_work.transcendentals) == pytest.approx(expected, rel=ROUNDING)


def load() -> dict[str, str]:
    table = tomllib.loads(Path(__file__).with_name("flops.toml").read_text(encoding="utf-8"))
    return {
        name: read(
            entry["root"],
            *entry["operands"],
            computations="".join(COMPUTATIONS[name] for name in entry.get("calls", ())),
        )
        for name, entry in table.items()
    }


CASES = load()


OTHERWISE = [name for name in CASES if name.startswith("library") or name in {"scan", "ragged dot"}]
ALIKE = [name for name in CASES if name not in OTHERWISE]
BINARY = ("add", "atan2", "divide", "maximum", "power", "remainder", "subtract")
UNARY = (
    *("abs", "acos", "asin", "cbrt", "ceil", "convert", "cosine", "cosh", "erf", "exp2", "exponential", "floor", "log"),
    *("log2", "logistic", "negate", "round-nearest-even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
)
PROGRAMS = {
    "layer": (layer.layer, layer.EXAMPLE),
    "softmax": (softmax.softmax, softmax.EXAMPLE),
    "layernorm": (layernorm.layernorm, layernorm.EXAMPLE),
    "attention": (attention.attention, attention.EXAMPLE),
    "a training step": (train_step.train_step, train_step.EXAMPLE),
    "a block and its gradient": (transformer_block_grad.transformer_block_grad, transformer_block_grad.EXAMPLE),
}


@pytest.mark.parametrize("name", ALIKE)
def test_each_rule_for_flops_matches_xla(name: str) -> None:
    expect_the_same(CASES[name])


@pytest.mark.parametrize("opcode", BINARY)
def test_operations_on_two_elements_count_as_xla_counts_them(opcode: str) -> None:
    expect_the_same(read(f"f32[64,32] {opcode}(%p0, %p1)", "f32[64,32]", "f32[64,32]"))


@pytest.mark.parametrize("opcode", UNARY)
def test_operations_on_one_element_count_as_xla_counts_them(opcode: str) -> None:
    expect_the_same(read(f"f32[64,32] {opcode}(%p0)", "f32[64,32]"))


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_flops_of_whole_programs_match_xla_on_every_target(name: str) -> None:
    function, example = PROGRAMS[name]
    for program in capture_all(function, *example).values():
        expect_the_same(program.before)
        expect_the_same(program.after)


def test_matrix_products_are_counted_separately_by_type_and_precision() -> None:
    product = "f32[64,16] dot(%p0, %p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    product_work = read(f"{product}, operand_precision={{highest,highest}}", "bf16[64,32]", "bf16[32,16]")
    assert count(product_work) == Work(products=Counter({"bf16 highest": 2 * 64 * 32 * 16}))
    assert count(read("s32[8] add(%p0, %p0)", "s32[8]")) == Work(others=Counter({"s32": 8}))
    assert count(read("pred[8] compare(%p0, %p0), direction=EQ", "s32[8]")) == Work(others=Counter({"s32": 8}))


def test_a_loop_body_counts_once_per_iteration_although_xla_counts_it_once() -> None:
    function, example = loops.PROGRAMS["fori_loop"]
    program = capture(function, *example)
    loop = next(while_loop for while_loop in program.module.walk() if while_loop.opcode == "while")
    assert Count(program.module).loops.count_trips(loop) == 3
    once = jax_private.count_work(program.after)["transcendentals"]
    assert Count(program.module).instruction(loop).transcendentals == 3 * once == 3 * 8
    never = parse_module(program.after.replace('"n":"3"', '"n":"0"'))
    assert Count(never).computation(never.entry).transcendentals == 0


def test_windows_that_cover_the_whole_row_count_as_one_reduction() -> None:
    window = "window={size=1x1023 pad=0_0x511_511}, to_apply=%add"
    whole = read(
        f"f32[8,512] reduce-window(%p0, %p1), {window}", "f32[8,512]", "f32[]", computations=COMPUTATIONS["add"]
    )
    assert count(whole) == Work(others=Counter({"f32": 8 * 511}))


def test_a_conditional_counts_the_maximum_of_each_kind_over_its_branches() -> None:
    assert count(CASES["conditional"]) == Work(others=Counter({"f32": 8}), transcendentals=8)


def test_a_library_matrix_product_is_counted_although_xla_does_not_count_it() -> None:
    text = CASES["library product"]
    assert count(text) == Work(products=Counter({"f32": 2 * 64 * 32 * 16}))
    assert jax_private.count_work(text)["flops"] == -1


@pytest.mark.parametrize("name", [name for name in OTHERWISE if name.startswith("library convolution")])
def test_a_library_convolution_counts_as_its_forward_or_backward_convolution(name: str) -> None:
    assert count(CASES[name]).products == Counter({"f32": count(CASES["convolution"]).flops})


def test_a_library_call_without_details_has_unknown_work() -> None:
    text = read('f32[8] custom-call(%p0), custom_call_target="mine"', "f32[8]")
    assert count(text) == Work(unknown=("mine",))


def test_a_library_convolution_whose_text_lacks_a_window_has_unknown_work() -> None:
    text = next(CASES[name] for name in OTHERWISE if name.startswith("library convolution"))
    window = re.search(r"size=(\d+)x\d+", text)
    assert window
    assert count(text.replace(window[0], f"size={window[1]}")).unknown != ()


def test_a_call_that_only_moves_data_counts_no_operations() -> None:
    assert count(read('f32[8] custom-call(%p0), custom_call_target="ConcatBitcast"', "f32[8]")) == Work()


def test_a_ragged_product_counts_each_row_once_if_its_groups_split_the_contracted_dimension() -> None:
    dimensions = "lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0}"
    root = f"f32[8,32,16] ragged-dot(%p0, %p1, %p2), {dimensions}"
    assert count(read(root, "f32[64,32]", "f32[64,16]", "s32[8]")).flops == 2 * 64 * 32 * 16


def test_a_ragged_product_counts_each_row_once_and_a_scan_each_step() -> None:
    assert count(CASES["ragged dot"]).flops == 2 * 16 * 32 * 64
    assert jax_private.count_work(CASES["ragged dot"])["flops"] < 2 * 16 * 32 * 64
    assert count(CASES["scan"]).flops == 4 * 8 != jax_private.count_work(CASES["scan"])["flops"]
