"""Each example compiles on three targets, and the solution to its question has the stated effect."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from xla_inspect import capture
from xla_inspect.analysis import Count, list_collectives, list_kernels, list_launches, measure_traffic
from xla_inspect.play import list_examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture

ANSWERS = tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))
EXAMPLES = {example["name"]: example for example in list_examples()}
TARGETS = ("cpu", "h100", "tpu-v5e")


def count_sent(capture: Capture) -> int:
    return sum(int(collective.sent_bytes) for collective in list_collectives(capture.module))


def count_kernels(capture: Capture) -> int:
    return len(list_kernels(capture))


def count_moved(capture: Capture) -> int:
    launches = list_launches(capture)
    return sum(measure_traffic(capture.module, launch.instruction).total * (launch.runs or 1) for launch in launches)


def count_beside(capture: Capture) -> int:
    memory = capture.memory
    # The CPU's peak leaves its temporaries out.
    return max(memory.temporaries, memory.peak - memory.arguments - memory.outputs + memory.aliased)


def count_work(capture: Capture) -> int:
    return Count(capture.module).computation(capture.module.entry).flops


MEASURES: dict[str, Callable[[Capture], int]] = {
    "softmax_rows": count_kernels,
    "recurrence_history": count_moved,
    "normed_rows": count_moved,
    "narrow_layers": count_moved,
    "one_row": count_moved,
    "attention_scores": count_beside,
    "kept_layers": count_beside,
    "looked_up_rows": count_work,
    "same_product": count_work,
    "sharded_layers": count_sent,
}
"""The function that measures the quantity in the question of each example; a solution reduces it."""


def compile_code(example: dict[str, Any], code: str, target: str, donate: str = "") -> Capture:
    module: dict[str, Any] = {"__name__": example["name"]}
    exec(compile(code, f"{example['name']}.py", "exec"), module)  # noqa: S102 - it is what the page does with it
    settings: dict[str, Any] = {"donate_argnames": donate} if donate else {}
    if mesh := example["options"].get("mesh"):
        axis, _, size = mesh.partition("=")
        settings["mesh"] = {axis: int(size)}
        target = {"tpu-v5e": "tpu-v5e:2x4"}.get(target, f"{target}:{size}")
    return capture(module[example["function"]], *module["EXAMPLE"], target=target, **settings)


def answer(example: dict[str, Any]) -> str:
    """Return the code of an example with the body of its function, except the docstring, replaced by the solution."""
    tree = ast.parse(example["code"])
    [function] = [node for node in tree.body if getattr(node, "name", "") == example["function"]]
    assert isinstance(function, ast.FunctionDef)
    lines = example["code"].splitlines()
    return "\n".join([*lines[: function.body[0].end_lineno], ANSWERS[example["name"]]["body"]])


def test_there_are_ten_each_with_a_question_and_an_answer() -> None:
    assert len(EXAMPLES) == 10
    assert list(EXAMPLES) == list(ANSWERS) == list(MEASURES)
    assert [name for name, example in EXAMPLES.items() if "?" not in example["question"]] == []


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_it_compiles(name: str, target: str) -> None:
    assert compile_code(EXAMPLES[name], EXAMPLES[name]["code"], target).module.entry


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_solution_reduces_the_quantity_in_question(name: str) -> None:
    example, measure = EXAMPLES[name], MEASURES[name]
    before = measure(compile_code(example, example["code"], example["target"]))
    after = measure(compile_code(example, answer(example), example["target"], ANSWERS[name].get("donate", "")))
    assert after < before, f"{before} before, {after} after"


@pytest.mark.usefixtures("all_targets")
def test_the_first_example_has_three_kernels_and_its_solution_one() -> None:
    example = EXAMPLES["softmax_rows"]
    kernel_counts = [count_kernels(compile_code(example, code, "h100")) for code in (example["code"], answer(example))]
    assert kernel_counts == [3, 1]
