"""The answer about a TPU's kernels below HLO: the summary line, the rows, the steps and the JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from programs import attention as program
from xla_inspect import capture
from xla_inspect.analysis import list_launches
from xla_inspect.analysis.bundles import read_below
from xla_inspect.answers import describe_json, write_json
from xla_inspect.questions.code.finding import MachineCode, explain_code

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

WIDTH = 80


@pytest.fixture(scope="module")
def on_tpu(all_targets: None) -> Capture:  # noqa: ARG001 - the fixture skips the tests without all targets
    return capture(program.attention, *program.EXAMPLE, target="tpu-v5e", machine=True, passes=False)


def test_the_first_line_names_the_longest_kernel_and_its_line(on_tpu: Capture) -> None:
    answer = explain_code(on_tpu)
    kernels = [kernel for kernel in read_below(on_tpu) if kernel.is_kernel]
    longest = max(kernels, key=lambda kernel: kernel.cycles or 0)
    text = " ".join(str(answer).split())
    assert longest.line is not None
    assert f"{len(kernels)} kernels with {sum(kernel.size for kernel in kernels):,} bundles" in text
    assert (
        f"The longest is {longest.name} (attention.py:{longest.line.number}): the compiler estimates "
        f"{longest.cycles:,} cycles for one pass through its code"
    ) in text


def test_each_kernel_has_a_row_and_the_full_answer_lists_the_steps_that_changed_it(on_tpu: Capture) -> None:
    short, full = str(explain_code(on_tpu)), str(explain_code(on_tpu, full=True))
    assert [kernel.name for kernel in read_below(on_tpu) if f"\n  {kernel.name} " not in short] == []
    assert "post-GVN" not in short
    for kernel in read_below(on_tpu):
        steps = full.partition(f"Steps that changed {kernel.name}")[2]
        assert [stage.name for stage in kernel.stages if stage.is_changed and stage.name not in steps] == []
    assert max(map(len, short.splitlines())) <= WIDTH


def test_the_json_follows_its_schema_and_has_every_kernel_but_no_bundle(on_tpu: Capture) -> None:
    text = write_json(explain_code(on_tpu, shown=1))
    record = json.loads(text)
    Draft202012Validator(describe_json(MachineCode)).validate(record)
    assert [kernel["name"] for kernel in record["below"]] == [kernel.name for kernel in read_below(on_tpu)]
    assert "vmatmul" not in text
    launches = {name for kernel in record["below"] for name in kernel["launches"]}
    assert launches | {name for name, _ in record["without_code"]} == {launch.name for launch in list_launches(on_tpu)}


def test_kernels_that_are_not_shown_are_counted(on_tpu: Capture) -> None:
    omitted = len(read_below(on_tpu)) - 2
    text = " ".join(str(explain_code(on_tpu, shown=2)).split())
    assert f"{omitted} kernels not shown; --full and --json show all of them." in text
