"""What a TPU's kernels take below HLO is told first line first, and all of it with its steps as data."""

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
def on_tpu(all_targets: None) -> Capture:  # noqa: ARG001 - it asks for them
    return capture(program.attention, *program.EXAMPLE, target="tpu-v5e", machine=True, passes=False)


def test_the_first_line_names_the_kernel_that_takes_longest_with_its_line(on_tpu: Capture) -> None:
    answer = explain_code(on_tpu)
    kernels = [kernel for kernel in read_below(on_tpu) if kernel.is_kernel]
    longest = max(kernels, key=lambda kernel: kernel.cycles or 0)
    told = " ".join(str(answer).split())
    assert longest.line is not None
    assert f"{len(kernels)} kernels of {sum(kernel.size for kernel in kernels):,} bundles" in told
    assert f"{longest.name} (attention.py:{longest.line.number}) takes {longest.cycles:,} cycles once through" in told


def test_each_kernel_has_a_row_and_all_is_told_with_the_steps_that_changed_it(on_tpu: Capture) -> None:
    short, full = str(explain_code(on_tpu)), str(explain_code(on_tpu, full=True))
    assert [kernel.name for kernel in read_below(on_tpu) if f"\n  {kernel.name} " not in short] == []
    assert "post-GVN" not in short
    for kernel in read_below(on_tpu):
        told = full.partition(f"{kernel.name}: the steps that changed it")[2]
        assert [stage.name for stage in kernel.stages if stage.is_changed and stage.name not in told] == []
    assert max(map(len, short.splitlines())) <= WIDTH


def test_the_json_keeps_to_the_schema_and_has_every_kernel_and_no_bundle(on_tpu: Capture) -> None:
    text = write_json(explain_code(on_tpu, shown=1))
    record = json.loads(text)
    Draft202012Validator(describe_json(MachineCode)).validate(record)
    assert [kernel["name"] for kernel in record["below"]] == [kernel.name for kernel in read_below(on_tpu)]
    assert "vmatmul" not in text
    launches = {name for kernel in record["below"] for name in kernel["launches"]}
    assert launches | {name for name, _ in record["without_code"]} == {launch.name for launch in list_launches(on_tpu)}


def test_few_kernels_are_shown_and_the_others_are_counted(on_tpu: Capture) -> None:
    left = len(read_below(on_tpu)) - 2
    assert f"Left out: {left} kernels; --full and --json have all." in str(explain_code(on_tpu, shown=2))
