"""The time of a compilation by phase and pass, and the part of the program that causes it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import capture
from xla_inspect.answers import Hint, Table
from xla_inspect.captured import PASSES, PassRun, Times
from xla_inspect.questions.passes.finding import CompileTimes, explain_passes

if TYPE_CHECKING:
    from xla_inspect import Capture

X = jax.ShapeDtypeStruct((8, 16), jnp.float32)
W = jax.ShapeDtypeStruct((16, 16), jnp.float32)
BLOCKS = 6
TABLE = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)


def train(x: jax.Array, w: jax.Array) -> jax.Array:
    def loss(w: jax.Array) -> jax.Array:
        y = x
        for number in range(BLOCKS):
            with jax.named_scope(f"block_{number}"), jax.named_scope("dense"):
                y = jnp.tanh(y @ w)
        with jax.named_scope("head"):
            return jnp.sum(y[0] * TABLE)

    return jax.grad(loss)(w)


@pytest.fixture(scope="module")
def trained() -> Capture:
    return capture(train, X, W, passes=True)


def explain(capture: Capture, **options: int) -> CompileTimes:
    return explain_passes("train", capture, "train.py:train", **options)


def test_the_sentence_says_where_most_of_the_time_went_and_on_which_machine(trained: Capture) -> None:
    times = Times(1.0, 0.5, 8.5, (), {PASSES: 2.0, "code generation": 6.0, "not recorded": 0.5})
    text = next(explain(replace(trained, times=times)).tell())
    assert text == (
        "Compiling train for CPU took 10.0 s on this machine: code generation 60%, HLO passes 20%, tracing 10%, "
        "lowering 5%."
    )


def test_the_phases_sum_to_the_whole(trained: Capture) -> None:
    answer = explain(trained)
    assert sum(answer.phases.values()) == pytest.approx(answer.seconds)
    assert list(answer.phases)[:3] == ["tracing", "lowering", PASSES]


def test_runs_of_a_pass_in_a_pipeline_are_summed_the_longest_first(trained: Capture) -> None:
    runs = (
        PassRun("p", "short", changed=False),
        PassRun("p", "long", changed=True),
        PassRun("p", "long", changed=False),
    )
    repeated = replace(trained, runs=runs, times=Times(0, 0, 10, (1.0, 2.0, 3.0)))
    first, second = explain(repeated).passes
    assert (first.name, first.runs, first.changed, first.seconds, first.share) == ("long", 2, 1, 5.0, 0.5)
    assert second.name == "short"


def test_blocks_that_differ_in_their_number_are_one_part_in_each_form_of_the_program(trained: Capture) -> None:
    parts = {part.path: part for part in explain(trained).parts}
    block = parts["block_*/dense"]
    assert block.repeats == BLOCKS
    assert min(block.equations, block.operations, block.before, block.after) >= 2 * BLOCKS
    assert parts["head"].repeats == 1
    assert sum(part.before for part in parts.values()) == trained.unoptimized_module.instruction_count()
    assert sum(part.after for part in parts.values()) == trained.module.instruction_count()
    assert sum(part.equations for part in parts.values()) == sum(equation.number for equation in trained.equations)


def test_the_depth_sets_the_detail_of_parts(trained: Capture) -> None:
    assert "block_*" in {part.path for part in explain(trained, depth=1).parts}


def test_an_unrolled_line_is_named_with_its_repeats_and_a_scan_is_advised(trained: Capture) -> None:
    answer = explain(trained)
    line = next(line for line in answer.repeats if "jnp.tanh" in line.text)
    assert line.times == BLOCKS
    hints = [part.text for part in answer.tell() if isinstance(part, Hint)]
    assert "To compile block_*/dense once instead of 6 times, use jax.lax.scan over stacked parameters." in hints


def test_a_captured_constant_is_listed_with_its_line(trained: Capture) -> None:
    constant = explain(trained).constants[0]
    assert (constant.type, constant.bytes, constant.origin) == ("float32[300,16]", 300 * 16 * 4, "closed over")
    assert constant.place.partition(":")[0].endswith("test_passes.py")


def test_long_constant_folding_is_reported_with_a_remedy(trained: Capture) -> None:
    runs = (PassRun("simplification", "constant_folding", changed=True),)
    slow = replace(trained, runs=runs, times=Times(0.1, 0.1, 10, (8.0,)))
    hints = [part.text for part in explain(slow).tell() if isinstance(part, Hint)]
    assert any(text.startswith("Constant folding took 8.0 s") for text in hints)


def test_twelve_passes_are_shown_by_default(trained: Capture) -> None:
    def count(limit: int) -> int:
        tables = [part for part in explain(trained, limit=limit).tell() if isinstance(part, Table)]
        return next(len(table.rows) for table in tables if table.title.startswith("Passes"))

    assert count(12) == 12
    assert count(0) == len(explain(trained).passes) > 12


def test_changing_passes_are_listed_if_the_capture_has_passes(trained: Capture) -> None:
    answer = explain(trained)
    assert len(answer.effects) == len(trained.passes)
    assert answer.effects[0].before == trained.instruction_counts[0]
    assert explain(replace(trained, passes=(), is_stepped=False)).effects == ()


def test_a_failed_compilation_is_negative_and_has_its_time(trained: Capture) -> None:
    answer = explain(replace(trained, error="out of memory", after=""))
    assert not answer.holds
    assert "failed after" in str(next(answer.tell()))


def test_the_start_of_jax_and_the_compiler_is_not_part_of_the_first_compilation() -> None:
    """A new process, which has not traced anything, compiles two programs of the same size in similar times."""
    code = (
        "import jax.numpy as jnp\n"
        "from xla_inspect import capture\n"
        "times = [capture(lambda x, n=n: jnp.sin(x) + n, jnp.ones(8), target='cpu').times for n in (1, 2)]\n"
        "print(times[0].lowering, times[1].lowering)\n"
    )
    environment = {**os.environ, "XLA_INSPECT_CACHE": "off"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    first, second = map(float, result.stdout.split())
    assert first < 10 * second + 0.1
