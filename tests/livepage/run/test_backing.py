"""Tests of the distinction between sentences that only state computed values and sentences that claim more."""

from __future__ import annotations

from pathlib import Path

import pytest

from livepage.read import Sentence, project
from livepage.run import backing

ROOT = Path(__file__).resolve().parents[3]
KERNELS = '`= len(list_kernels(one["{}"]))`'.format
CPU, H100, TPU = map(KERNELS, ("cpu", "h100", "tpu-v5e"))
CLAIMING_MORE = [
    '`= size(one["h100"].memory.arguments + one["h100"].memory.outputs)` are read and written, and nothing is kept.',
    f"The H100 has {H100} kernels because the reduction is not fused.",
    f"Only the CPU has {CPU} kernels.",
    f"The TPU has {CPU} kernels.",
    f"The CPU has {H100} kernels and the H100 has {CPU}.",
    f"The H100 has {H100} kernels, and the TPU copies the rest.",
    f"The CPU runs {CPU} kernels faster.",
    f"The H100 has at most {H100} kernels.",
    f"The H100 has twice the {H100} kernels.",
    f"The H100 has {H100} kernels, which hide the copies.",
    f"The H100 has {H100} instructions.",
    f"The H100 has {H100} kernels without a library.",
    "It takes `= fused.cycles` cycles, so better packing helps.",
    "All `= len(programs)` programs are fused.",
    "No program has `= max(map(len, programs))` kernels.",
    "XLA removes `= len(removed)` of the instructions.",
    'The kernels do not use `= size(one["h100"].memory.temporaries)`.',
    "It compiles the function `= compiles` times, since the shapes differ.",
    'The outputs alias `= size(one["cpu"].memory.arguments)`.',
    "The pass `= shardy.name` propagates the shardings through every operation.",
    "The next kernel has `= next(sizes(kernel))` bytes if the loop ends.",
]
ONLY_VALUES = [
    f"The H100 has {H100} kernels.",
    f"The CPU launches {CPU} kernels and the H100 launches {H100}.",
    f"There are {CPU} kernels on the CPU, {H100} on the H100 and {TPU} on the TPU v5e.",
    f"kernels | {CPU} | {H100} |",
    '`add` | `= count_primitives(forward)["add"]` | `= count_primitives(gradient)["add"]` |',
    '**Arguments**: `= size(one["cpu"].memory.arguments)`',
    'The temporaries of the TPU take `= size(one["tpu-v5e"].memory.temporaries)`.',
    "The H100's peak is `= size(one[\"h100\"].memory.peak)`.",
    "The number of bundles is `= len(fused.bundles)`.",
    "The critical path takes `= critical.path.cycles` cycles.",
    'The count of passes on the H100 is `= len(one["h100"].passes)`.',
    "It has [version](versions.md) `= jax.__version__` of JAX.",
    'libtpu `= versions["libtpu"]`',
    '`= title("h100")`',
    "The share of the matmul is `= f\"{shares['MATMUL']:.0%}\"`.",
    "There are `= len(programs)` programs with `= total_operations` operations.",
    'The layer takes `= estimate_seconds("layer")` seconds.',
    "The chart has `= len(chart.bars)` bars.",
    "The dialect has `= len(list_names(dialect))` names.",
    "Its size is `= size(layer_bytes)` in total.",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "root", ROOT)


@pytest.mark.parametrize("text", CLAIMING_MORE)
def test_words_that_claim_more_than_the_values_are_listed(text: str) -> None:
    assert backing.list_added_words(Sentence(text, 1)) != []


@pytest.mark.parametrize("text", ONLY_VALUES)
def test_no_words_are_listed_if_a_sentence_only_states_its_values(text: str) -> None:
    assert backing.list_added_words(Sentence(text, 1)) == []
