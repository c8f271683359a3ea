"""The question about results that a pass changes, with real compilations, and with passes that were changed by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import InspectError, capture, numbers
from xla_inspect.commands import main
from xla_inspect.questions.numbers.array_difference import check_shapes, compare_results
from xla_inspect.questions.numbers.finding import Causes, InputElement
from xla_inspect.questions.numbers.options import compare_numbers
from xla_inspect.subject import make_subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect import Capture
    from xla_inspect.questions.numbers.finding import NumberChanges

pytestmark = pytest.mark.usefixtures("all_targets")

X = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def lost_rounding(x: jax.Array) -> jax.Array:
    return x - x.astype(jnp.bfloat16).astype(jnp.float32)


def normalize(x: jax.Array, scale: jax.Array) -> jax.Array:
    centered = x - x.mean(axis=1, keepdims=True)
    return centered / jnp.sqrt((centered**2).mean(axis=1, keepdims=True)) * scale


@cache
def normalized() -> Capture:
    return capture(normalize, X, X, target="h100")


def change_subtraction(program: Capture, number: int, new: str) -> Capture:
    """Return a capture that ends after a pass, with its first subtraction from the argument replaced and renamed."""
    change = program.passes[number]
    match = re.search(r"(%[\w.-]+)( = .*)subtract\(%x.1, (%[\w.-]+)\)", change.text)
    assert match
    text = change.text.replace(match[0], f"{match[1]}{match[2]}{new.format(match[3])}", 1)
    text = re.sub(rf"{re.escape(match[1])}(?![\w.-])", "%renamed", text)
    return replace(program, passes=(*program.passes[:number], replace(change, text=text)), after=text)


def test_the_pass_that_drops_a_rounding_is_named_with_its_line_and_with_options_that_keep_it() -> None:
    answer = compare_numbers(make_subject("lost_rounding", lost_rounding, (X,), {}, ""), "h100", tried=True)
    [step] = answer.steps
    assert step.passes == ("float_normalization/simplify-fp-conversions",)
    assert (step.difference.relative, step.difference.elements) == (1, pytest.approx(8 * 128, rel=0.05))
    assert (step.origin.opcode, step.origin.text) == (
        "subtract",
        "return x - x.astype(jnp.bfloat16).astype(jnp.float32)",
    )
    [eager] = answer.references
    assert eager.first is None
    assert eager.last == step.difference
    assert [trial.option for trial in answer.trials if trial.keeps] == [
        "xla_allow_excess_precision=false",
        "xla_disable_hlo_passes=simplify-fp-conversions",
    ]
    text = " ".join(str(answer).split())
    assert "the largest step is simplify-fp-conversions, at test_numbers.py:" in text
    assert "0 1 the function run eagerly" in text
    assert text.count("the result equals the one before simplify-fp-conversions") == 2


def test_no_pass_changes_the_bits_of_an_integer_program() -> None:
    whole = jax.ShapeDtypeStruct((64,), jnp.int32)
    answer = numbers(lambda x, y: (x * 3 + y) // 2 % 5, whole, whole, target="tpu-v5e")
    assert (answer.steps, answer.missed, answer.references[0].last) == ((), (), None)
    assert f"no pass changes a bit of the results ({answer.passes} passes)" in " ".join(str(answer).split())


def test_a_swapped_operand_is_found_in_the_pass_that_swapped_it_and_at_its_line() -> None:
    program, number = normalized(), 3
    steps = numbers(change_subtraction(program, number, "subtract({}, %x.1)")).steps
    extra = steps[-1]
    change = program.passes[number]
    assert extra.passes == (f"{change.pipeline}/{change.name}",)
    assert (extra.origin.opcode, extra.origin.text) == ("subtract", "centered = x - x.mean(axis=1, keepdims=True)")
    assert extra.origin.instruction == "renamed"
    assert extra.difference.relative == pytest.approx(2)


def test_a_module_that_does_not_run_is_counted_and_its_step_ends_at_the_next_one_that_runs() -> None:
    program = normalized()
    unknown = change_subtraction(program, 3, 'custom-call(%x.1, {}), custom_call_target="unknown"').passes[3]
    changed = change_subtraction(program, 4, "subtract({}, %x.1)")
    broken = replace(changed, passes=(*changed.passes[:3], unknown, changed.passes[4]))
    answer = numbers(broken)
    assert [(one.modules, "unknown" in one.reason) for one in answer.missed] == [(1, True)]
    largest = answer.largest
    assert largest is not None
    assert largest.passes == tuple(f"{change.pipeline}/{change.name}" for change in program.passes[3:5])
    assert f"1 of {answer.modules} modules did not run" in " ".join(str(answer).split())
    assert "one of the 2 passes" in " ".join(str(answer).split())


def test_the_first_nan_is_named_with_its_instruction_and_line() -> None:
    def root(x: jax.Array) -> jax.Array:
        doubled = x * 2
        return jnp.sqrt(doubled) + 1

    answer = numbers(root, X)
    assert "Output 0 has a NaN from the start, before any pass" in " ".join(str(answer).split())
    nonfinite = answer.nonfinite
    assert nonfinite is not None
    assert (nonfinite.kind, nonfinite.after, nonfinite.origin.opcode) == ("NaN", "", "sqrt")
    assert nonfinite.origin.text == "return jnp.sqrt(doubled) + 1"
    values = np.random.default_rng(0).standard_normal(X.shape).astype(np.float32)
    row, column = np.argwhere(values < 0)[0].tolist()
    assert nonfinite.causes.elements == (InputElement("x", (row, column), str(values[row, column])),)
    assert f"1 input element leads to it: x[{row}, {column}] = {values[row, column]!s}." in " ".join(
        str(answer).split()
    )
    infinite = numbers(lambda x: x * 2 + jnp.inf, X).nonfinite
    assert infinite is not None
    assert (infinite.kind, infinite.origin.opcode) == ("infinity", "constant")
    assert infinite.causes == Causes(note="No input element leads to it.")


def test_the_input_elements_that_lead_to_an_infinity_together_are_named() -> None:
    numbers_of_pair = {"x": np.array([1, 2, 4, 3, 5, 6], np.float32), "y": np.array([2, 2, 3, 3, 7, 8], np.float32)}

    def name(function: Callable[..., jax.Array], inputs: dict[str, np.ndarray]) -> str:
        """Return the sentence about the elements, and the note."""
        answer = " ".join(str(numbers(function, *inputs.values(), inputs=inputs, against=["none"])).split())
        return answer.partition(" lead to it ")[2].partition(" Inputs")[0] or answer

    assert name(lambda x, y: 1 / (x - y), numbers_of_pair) == "together: x[1] = 2.0, y[1] = 2.0."
    large = {"x": np.full(8, 1e38, np.float32)}
    assert name(lambda x: x.sum(), large) == (
        "together: x[0] = 1e+38, x[1] = 1e+38, x[2] = 1e+38. Further elements are needed, too."
    )
    assert "The input element that leads to it is not known: it is also there with other numbers" in name(
        lambda x: 1 / (x - x), large
    )
    missing = {"x": np.array([[1, 2], [3, np.nan]], np.float32)}
    assert "1 input element leads to it: x[1, 1] = nan." in name(lambda x: x.sum(), missing)


def ask_closed() -> NumberChanges:
    table = jnp.arange(5000.0)
    return numbers(lambda x: x + table, jax.ShapeDtypeStruct((5000,), jnp.float32))


def test_a_constant_without_its_value_and_a_capture_without_passes_are_explained() -> None:
    assert "is not in the capture" in ask_closed().missed[0].reason
    lone = replace(normalized(), before="", passes=())
    assert "the module of one stage only" in " ".join(str(numbers(lone)).split())
    text = " ".join(str(numbers(replace(lone, target="unknown"))).split())
    assert "On the real hardware, there may be further differences" in text


def test_only_the_modules_that_ran_are_said_to_have_equal_bits() -> None:
    program = change_subtraction(normalized(), 3, 'custom-call(%x.1, {}), custom_call_target="unknown"')
    for first, words in ((0, "only 4 of 5 modules ran, and their results have the same bits."), (3, "only 1 of 2 ")):
        before = program.passes[first - 1].text if first else program.before
        answer = numbers(replace(program, before=before, passes=program.passes[first:]))
        assert words in " ".join(str(answer).split())
    last = numbers(replace(normalized(), after=program.after))
    assert "(1 module, first after the last recorded pass)" in " ".join(str(last).split())


def test_suggested_commands_have_the_inputs_and_the_comparisons_of_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("def f(x):\n    return x - x.astype('bfloat16').astype('float32')\n")
    np.savez("my inputs.npz", x=np.linspace(0, 1, 6))
    options = ["--inputs", "my inputs.npz", "--against", "x64", "--against", "cpu", "--seed", "3"]
    assert main(["numbers", "m.py:f", "--args", "f32[6]", "--target", "h100", *options]) == 0
    words = " ".join(capsys.readouterr().out.replace("\\", "").split())
    assert "numbers --try '--inputs=my inputs.npz' --seed=3 --against=x64 --against=cpu m.py:f" in words


def test_large_arrays_unknown_comparisons_and_captures_without_a_function_are_refused() -> None:
    with pytest.raises(InspectError, match=r"the inputs have 4 GiB"):
        numbers(jnp.tanh, jax.ShapeDtypeStruct((1 << 30,), jnp.float32))
    with pytest.raises(InspectError, match=r"the results have 4 GiB"):
        numbers(lambda x: jnp.broadcast_to(x, (1 << 30,)), jax.ShapeDtypeStruct((), jnp.float32))
    with pytest.raises(InspectError, match="no target is named 'eagre'"):
        numbers(lost_rounding, X, against=["eagre"])
    with pytest.raises(InspectError, match="--against x64 needs a function"):
        numbers(normalized(), against=["x64"])


def test_the_h100_rounds_each_sum_of_bfloat16_numbers_before_and_after_their_normalization() -> None:
    def add_up(x: jax.Array) -> jax.Array:
        return jax.lax.cumsum(x)

    example = jax.ShapeDtypeStruct((32,), jnp.bfloat16)
    code = "".join(code.text for code in capture(add_up, example, target="h100").code if code.language == "ptx")
    assert ("add.rn.bf16" in code, "add.rn.f32" in code) == (True, False)
    answer = numbers(add_up, example, target="h100", against=["none"])
    assert [step.passes for step in answer.steps] == [("optimization/associative-scan-rewriter",)]


def test_the_function_in_float64_and_another_target_have_the_errors_of_their_types() -> None:
    answer = numbers(normalize, X, X, target="cpu", against=["x64", "tpu-v5e", "eager"])
    wide, other, eager = answer.references
    assert wide.last is not None
    assert 0 < wide.last.relative < 1e-5
    assert wide.last != eager.last
    assert (wide.absence, other.absence, other.name) == ("", "", "TPU v5e")
    assert other.last is None or other.last.relative < 1e-5


def test_differences_count_representable_numbers_signs_of_zero_and_new_nans() -> None:
    one, half = np.float32(1), np.float32(0.5)
    cases = {
        "next": ([one, half], [np.nextafter(one, np.float32(2)), half], (1, 1, 0)),
        "zero": ([one, np.float32(0)], [one, np.float32(-0.0)], (1, 1, 0)),
        "NaN": ([one, half], [np.float32(np.nan), half], (1, 0, 1)),
        "same infinity": ([one, np.float32(np.inf)], [half, np.float32(np.inf)], (1, 2**23, 0)),
        "far": ([np.float64(-(2.0**1000))], [np.float64(2.0**1000)], (1, 2023 * 2.0**53, 0)),
        "far integers": ([np.uint64(2**63 - 1)], [np.uint64(2**63 + 1)], (1, 2, 0)),
        "bytes without a sign": (np.array([1], jnp.float8_e8m0fnu), np.array([4], jnp.float8_e8m0fnu), (1, 2, 0)),
        "half bytes": (np.array([-0.5], jnp.float4_e2m1fn), np.array([0.5], jnp.float4_e2m1fn), (1, 3, 0)),
        "two parts": ([np.complex64(1 + 1j), 1], [np.complex64(2 + 2j), np.inf], (2, 2**52, 1)),
        "signaling NaN": ([np.uint32(0x7F800001).view(np.float32)], [one], (1, 0, 1)),
        "farthest integers": ([np.uint64(0)], [np.uint64(2**64 - 1)], (1, 2.0**64, 0)),
    }
    for old, new, expected in cases.values():
        difference = compare_results([[np.array(old)]], [[np.array(new)]])
        assert difference is not None
        assert (difference.elements, difference.ulps, difference.nonfinite) == expected
    from_zero = compare_results([[np.zeros(2)]], [[np.array([0, -4.0])]])
    assert from_zero is not None
    assert (from_zero.absolute, from_zero.relative) == (4, 1)
    large = np.array([2**62], np.int64)
    whole_difference = compare_results([[large]], [[large + 1]])
    assert whole_difference is not None
    assert (whole_difference.elements, whole_difference.absolute) == (1, 1)
    with pytest.raises(InspectError, match=r"results have the shapes \[\[3\]\] instead of \[\[4\]\]"):
        check_shapes([[np.ones(4)]], [[np.ones(3)]])
    nan = np.array([np.nan], np.float32)
    worst = compare_results([[np.ones(1)], [nan]], [[3 * np.ones(1)], [np.zeros(1, np.float32)]])
    assert worst is not None
    assert (worst.output, worst.nonfinite) == (1, 1)
    assert compare_results([[nan]], [[-nan]]) is None
    pair = [np.array([1 + 2j], np.complex64)], [np.array([1 + 4j], np.complex64)]
    complex_difference = compare_results([pair[0]], [pair[1]])
    assert complex_difference is not None
    assert (complex_difference.absolute, complex_difference.relative) == (2, 1)


@pytest.mark.parametrize("kind", [jnp.int4, jnp.uint2, jnp.float4_e2m1fn, jnp.float8_e3m4, jnp.float8_e5m2fnuz])
def test_numbers_of_less_than_a_byte_and_all_kinds_of_8_bits_run(kind: type) -> None:
    example = jax.ShapeDtypeStruct((4, 3), kind)
    answer = numbers(lambda x, y: (x + y, x.T), example, example)
    assert (answer.missed, answer.references[0].absence, answer.references[0].last) == ((), "", None)


def test_prints_and_unknown_state_do_not_change_the_answer() -> None:
    def print_twice(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x.sum())
        return x * 2

    assert numbers(print_twice, X, against=["none"]).missed == ()
    [missed] = numbers(
        lambda x: x + jax.lax.rng_uniform(0.0, 1.0, (4,)), np.ones(4, np.float32), against=["none"]
    ).missed[:1]
    assert "depends on data or on a state outside of the module" in missed.reason


def test_small_numbers_that_xla_prints_as_zeros_are_no_step() -> None:
    answer = numbers(lambda x: (x, jnp.float32([1e-45, -2e-44])), X, against=["none"])
    assert (answer.steps, answer.missed) == ((), ())
