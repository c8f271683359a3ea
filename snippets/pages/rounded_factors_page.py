"""Tables and checks about the rounding in matrix units, and the results of a real H100."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

import stamps
from chapters import matrix_units
from pages import numbers_page
from programs import product, rnn
from xla_inspect import capture, numbers
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.questions.numbers import NumberChanges


def ask_product(target: str) -> NumberChanges:
    """Return the answer about a matmul in float32 on a target, without comparisons."""
    return numbers(product.product, *product.EXAMPLE, target=target, against=["none"])


def show_units(answers: Mapping[str, NumberChanges]) -> str:
    """Return a table of the relative errors that passes and matrix units cause, by target."""
    rows = [
        (
            title(target),
            *(numbers_page.show_number(numbers_page.find_error(one)) for one in (answer.total, answer.matrix_units)),
        )
        for target, answer in answers.items()
    ]
    return markdown.cards(["target", "all passes", "rounding in matrix units"], rows)


def read_results() -> Mapping[str, Mapping[str, float]]:
    """Return the relative differences of a real H100's results from this CPU's, by program, as recorded."""
    programs = stamps.read_sealed(stamps.DATA / "gpu-results.json")["programs"]
    return {name: one for name, one in programs.items() if "skipped" not in one}


def show_results(real: Mapping[str, Mapping[str, float]]) -> str:
    """Return a folded table of the programs that ran on an H100, with the largest difference first."""
    ordered = sorted(real.items(), key=lambda item: -item[1]["evaluated"])
    rows = [
        (
            markdown.code(name),
            *(numbers_page.show_number(one[kind]) if one[kind] else "the same bits" for kind in _KINDS),
        )
        for name, one in ordered
    ]
    header = ["program", "without the rounding", "with the rounding"]
    record = stamps.read_sealed(stamps.DATA / "gpu-results.json")
    folded = f"Relative errors of {len(real)} programs on an {record['device']}, JAX {record['versions']['jax']}"
    return markdown.cards(header, rows, formatted=True, folded=folded)


_KINDS = ("evaluated", "rounded")


def measure_growth() -> float:
    """Return how many times as large a small change of the first state of `rnn` is at the end."""
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(leaf.shape).astype(leaf.dtype) for leaf in rnn.EXAMPLE]
    changed = [np.nextafter(one, np.float32(9)) if number == 1 else one for number, one in enumerate(inputs)]
    (last, _), (other, _) = (jax.jit(rnn.rnn)(*one) for one in (inputs, changed))
    return float(np.abs(last - other).max() / np.abs(inputs[1] - changed[1]).max())


def list_types(precision: str) -> list[str]:
    """Return the element types that the matrix units multiply in a TPU's kernels of the matmul, for a precision."""
    with jax.default_matmul_precision(precision):
        compiled = capture(product.product, *product.EXAMPLE, target="tpu-v5e", machine=True)
    return [*matrix_units.count_types(compiled, "vmatmul")]


def check_units(answers: Mapping[str, NumberChanges], real: Mapping[str, Mapping[str, float]]) -> None:
    """Assert that the simulated rounding is the measured one, and that it explains most of the differences."""
    cpu, gpu, tpu = (answers[target].matrix_units for target in numbers_page.TARGETS)
    assert cpu is None
    assert gpu
    assert tpu
    assert tpu.relative > 4 * gpu.relative > 100 * numbers_page.find_error(answers["h100"].total)
    measured = real["product"]
    assert abs(gpu.relative / measured["evaluated"] - 1) < 0.1
    assert measured["rounded"] < measured["evaluated"] / 1000
    closer = [one for one in real.values() if one["rounded"] != one["evaluated"]]
    assert len(closer) >= 10
    assert all(one["rounded"] < one["evaluated"] / 2 for one in closer)
    assert measure_growth() > 1000
    assert [list_types(precision) for precision in ("default", "highest")] == [["bf16"], ["f32"]]
