"""Tables and checks of the page about results that the compiler's passes change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from programs import attention, layernorm, product, rounded, rounding_error, softmax
from xla_inspect import capture, numbers
from xla_inspect.analysis import list_kernels, main_memory_bytes
from xla_inspect.budgets import BrokenError, hold_call
from xla_inspect.questions.numbers import describe_marks
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.questions.numbers import ArrayDifference, NumberChanges

TARGETS = ("cpu", "h100", "tpu-v5e")
STRICT: dict[str, str | bool] = {"xla_allow_excess_precision": False}
VECTOR = jax.ShapeDtypeStruct((1024,), jnp.float32)

TEST = """from rounding import rounding_error

def test_numbers(hlo):
    step = hlo(rounding_error, "f32[1024]", target="h100")
    step.same_numbers_as("eager", ulp=4)
    step.no_pass_changes(more_than=1e-6)
"""

WAYS: dict[str, tuple[Callable[..., Any], dict[str, str | bool]]] = {
    "nothing": (rounding_error.rounding_error, {}),
    "`xla_allow_excess_precision=false`": (rounding_error.rounding_error, STRICT),
    "`reduce_precision`": (rounding_error.with_reduce_precision, {}),
    "`optimization_barrier`": (rounding_error.with_barrier, {}),
}
"""The function and the options of XLA for each way to keep the rounding, and for none."""

ORDERS = (
    (product.product, product.EXAMPLE, "h100"),
    (layernorm.layernorm, layernorm.EXAMPLE, "cpu"),
    (attention.attention, attention.EXAMPLE, "cpu"),
)
"""The programs whose sums a pass of a target changes."""


def compare_quotient(frequency: jax.Array) -> jax.Array:
    """Return whether a frequency is at least 0.1 GHz."""
    return frequency / 1e9 >= 0.1


def log_of_power(x: jax.Array) -> jax.Array:
    """Return the logarithm of a number's power of itself."""
    return jnp.log(x**x)


def add_products(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    """Return the sum of two products."""
    return a * x + b * x


ISSUES: dict[str, tuple[Callable[..., Any], tuple[float, ...], str]] = {
    "jax-ml/jax/issues/25601": (compare_quotient, (1e8,), "cpu"),
    "tensorflow/tensorflow/issues/57744": (log_of_power, (-1.5,), "h100"),
    "openxla/xla/issues/41579": (add_products, (1e20, -1e20, 1e10), "cpu"),
}
"""The function, its arguments and the target of public issues, by their address on GitHub."""


@dataclass(frozen=True)
class Work:
    """The work of one compiled program: kernels, bytes of main memory and floating-point operations."""

    kernels: int
    traffic: int
    flops: int


def measure_work(compiled: Capture) -> Work:
    """Return the work of a capture."""
    assert compiled.cost
    traffic = main_memory_bytes(compiled.module)
    return Work(len(list_kernels(compiled)), traffic, round(compiled.cost.flops))


def compile_ways() -> dict[str, dict[str, Capture]]:
    """Return the captures of each way to keep the rounding by target."""
    return {
        name: {target: capture(function, VECTOR, target=target, options=options) for target in TARGETS}
        for name, (function, options) in WAYS.items()
    }


def compile_softmax() -> dict[str, dict[str, Capture]]:
    """Return the captures of a softmax in bfloat16 by target, with excess precision and without."""
    [shape] = softmax.EXAMPLE
    example = jax.ShapeDtypeStruct(shape.shape, jnp.bfloat16)
    return {
        name: {target: capture(softmax.softmax, example, target=target, options=options) for target in TARGETS}
        for name, options in (("by default", {}), ("without excess precision", STRICT))
    }


def try_ways() -> dict[str, NumberChanges]:
    """Return the answers about the numbers of each way on the H100, compared with the function run eagerly."""
    return {
        name: numbers(function, VECTOR, target="h100", options=options) for name, (function, options) in WAYS.items()
    }


def ask_in_bfloat16(**options: Any) -> NumberChanges:  # noqa: ANN401 - as in `numbers`
    """Return the answer about a sum and a difference in bfloat16 on the TPU, compared with float64."""
    function, example = rounded.PROGRAMS["a sum in bfloat16"]
    return numbers(function, *example, target="tpu-v5e", against=["x64"], **options)


def ask_orders() -> list[NumberChanges]:
    """Return the answers about the programs whose sums a pass changes, compared with float64."""
    return [numbers(function, *example, target=target, against=["x64"]) for function, example, target in ORDERS]


def ask_issue(name: str, off: str = "") -> NumberChanges:
    """Return the answer about the program of a public issue, with a pass of the compiler switched off or with none."""
    function, values, target = ISSUES[name]
    arrays = [np.float32(value) for value in values]
    options = {"xla_disable_hlo_passes": off} if off else {}
    return numbers(function, *arrays, target=target, inputs=dict(enumerate(arrays)), options=options)


def show_issues(answers: Mapping[str, NumberChanges]) -> str:
    """Return a folded table of public issues with the pass of each, and the option that keeps the result."""
    rows = []
    for name, answer in answers.items():
        off = find_pass(answer)
        [eager] = ask_issue(name, off).references
        link = f"[{name.replace('/issues/', ' #')}](https://github.com/{name})"
        option = markdown.code(f"xla_disable_hlo_passes={off}") if eager.last is None else "not found"
        expression = answer.largest.origin.text.removeprefix("return ") if answer.largest else ""
        rows.append((link, markdown.code(expression), title(answer.target), markdown.code(off), option))
    header = ["public issue", "expression", "target", "pass", "kept by"]
    return markdown.cards(header, rows, formatted=True, folded="Public issues, their passes, and options")


def check_issues(answers: Mapping[str, NumberChanges]) -> None:
    """Assert what the passes did: a product for a quotient, no power, and a fused multiply-add."""
    quotient, power, products = (
        capture(function, *map(np.float32, values), target=target) for function, values, target in ISSUES.values()
    )
    assert [quotient.module.opcode_counts()[name] for name in ("divide", "multiply")] == [0, 1]
    assert [power.module.opcode_counts()[name] for name in ("power", "abs", "log", "multiply")] == [0, 1, 1, 1]
    assert "vfmadd" in "".join(code.text for code in products.code if code.language == "asm")
    assert [find_pass(answer) for answer in answers.values()] == ["algsimp", "algsimp", "fusion"]
    assert [answer.nonfinite is not None and not answer.nonfinite.remains for answer in answers.values()] == [
        False,
        True,
        False,
    ]


def find_error(difference: ArrayDifference | None) -> float:
    """Return the relative error of a comparison, which is 0 for the same bits."""
    return difference.relative if difference else 0.0


def show_number(error: float) -> str:
    """Return a relative error with one digit."""
    return f"{error:.1g}"


def find_pass(answer: NumberChanges) -> str:
    """Return the name of the pass with the largest difference."""
    assert answer.largest
    [name] = answer.largest.passes
    return name.rpartition("/")[2]


def show_targets(answers: Mapping[str, NumberChanges]) -> str:
    """Return a table of the passes that change bits, and of the error compared with eager execution, by target."""
    rows = [
        (
            title(target),
            f"{len(answer.steps)} of {answer.passes}",
            ", ".join(markdown.code(step.passes[-1].rpartition("/")[2]) for step in answer.steps) or "none",
            show_error(answer.references[0].last),
        )
        for target, answer in answers.items()
    ]
    header = ["target", "passes that change bits", "their names", "after the passes, compared with eager execution"]
    return markdown.cards(header, rows, formatted=True)


def mark_passes(answers: Mapping[str, NumberChanges]) -> dict[str, Any]:
    """Return the explorer's marks on the passes that change bits by target."""
    return {target: describe_marks(answer) for target, answer in answers.items()}


def check_marks(captures: Mapping[str, Capture], answers: Mapping[str, NumberChanges]) -> None:
    """Assert that the only marks are at the passes of the answers, and that one target has a mark."""
    marks = {target: described["states"] for target, described in mark_passes(answers).items()}
    assert [target for target, states in marks.items() if states] == ["h100"]
    [(number, (kind, *_))] = marks["h100"].items()
    assert (captures["h100"].pass_names[number - 1], kind) == (find_pass(answers["h100"]), "changed")


def break_test() -> str:
    """Return the message of the first assertion of `TEST` that does not hold."""
    step = hold_call(rounding_error.rounding_error, "f32[1024]", target="h100")
    try:
        step.same_numbers_as("eager", ulp=4)
    except BrokenError as error:
        return str(error)
    message = "the numbers are the same"
    raise AssertionError(message)


def show_error(difference: ArrayDifference | None) -> str:
    """Return a relative error with one digit, or the statement that all bits are equal."""
    return f"relative error {difference.relative:.1g}" if difference else "the same bits"


def show_work(
    captures: Mapping[str, Mapping[str, Capture]], first: str, sentences: Mapping[str, str] | None = None
) -> str:
    """Return a table of the work of each variant by target.

    Args:
        captures: The captures of each variant by target.
        first: The title of the first column.
        sentences: A sentence about the rounding for each variant, for another column, or None.
    """
    rows = [
        (name, *([sentences[name]] if sentences else []), *(_show(measure_work(one)) for one in by_target.values()))
        for name, by_target in captures.items()
    ]
    header = [first, *(["rounding on the H100"] if sentences else []), *map(title, TARGETS)]
    return markdown.cards(header, rows, formatted=True)


def _show(work: Work) -> str:
    kernels = f"{work.kernels} kernel{'s' * (work.kernels != 1)}"
    return f"{kernels}, {markdown.size(work.traffic)}, {work.flops:,} flops"


def show_orders(answers: Iterable[NumberChanges]) -> str:
    """Return a table of the differences by the passes, and of the errors before and after them."""
    rows = [
        (
            f"{answer.program} on the {title(answer.target)}",
            markdown.code(find_pass(answer)),
            f"{answer.largest.difference.relative:.1g}" if answer.largest else "",
            f"{find_error(answer.references[0].first):.1g}",
            f"{find_error(answer.references[0].last):.1g}",
        )
        for answer in answers
    ]
    header = ["program", "largest step", "difference", "error before the passes", "error after the passes"]
    return markdown.cards(header, rows, formatted=True)


def check_orders(answers: Iterable[NumberChanges]) -> None:
    """Assert that no pass changes a sum by much more than the error that it had before, and that errors stay small."""
    for answer in answers:
        assert answer.largest
        before, after = (find_error(one) for one in (answer.references[0].first, answer.references[0].last))
        assert 0 < answer.largest.difference.relative < 3 * max(before, after)
        assert 0 < after < 3 * before < 1e-5


def check_lost(compiled: Capture, answer: NumberChanges) -> None:
    """Assert that the optimized module subtracts its argument from itself, after one pass that changed all results."""
    [difference] = [one for one in compiled.module.walk() if one.opcode == "subtract"]
    assert len(set(difference.operands)) == 1
    [step] = answer.steps
    assert step.difference == answer.references[0].last
    assert step.difference.relative == 1


def count_kinds() -> dict[str, Mapping[str, int]]:
    """Return the number of instructions by opcode of the sum in bfloat16 on the TPU, by default and with the option."""
    function, example = rounded.PROGRAMS["a sum in bfloat16"]
    return {
        name: capture(function, *example, target="tpu-v5e", options=options).module.opcode_counts()
        for name, options in (("by default", {}), ("strict", STRICT))
    }


def ask_masked(least: int = 0) -> NumberChanges:
    """Return the answer about the masked softmax on the H100, with random scores and lengths of at least `least`."""
    generator = np.random.default_rng(0)
    scores = generator.standard_normal((16, 8)).astype(np.float32)
    lengths = generator.integers(least, 8, 16).astype(np.int32)
    lengths[0] = least
    inputs = {"scores": scores, "lengths": lengths}
    return numbers(rounding_error.attend, scores, lengths, target="h100", inputs=inputs, against=["none"])


def attend_finite() -> list[float]:
    """Return the weights of a row in which each score is the most negative finite number instead of `-inf`."""
    scores = jnp.full((1, 8), np.finfo(np.float32).min)
    return jax.nn.softmax(scores, axis=-1)[0].tolist()


def check_partitioning() -> None:
    """Check that a matmul whose sums are split over devices changes first at the partitioning, by a rounding error."""
    square, specs = jax.ShapeDtypeStruct((64, 64), jnp.float32), (jax.P(None, "data"), jax.P("data"))
    answer = numbers(jnp.matmul, square, square, mesh={"data": 4}, specs=specs, against=["x64"])
    assert answer.steps[0].passes[0].endswith("spmd-partitioning")
    assert find_error(answer.references[0].last) < 1e-5
