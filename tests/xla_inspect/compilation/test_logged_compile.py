"""The compilers' reasons, collected in another process for the compilation of a capture."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from programs import layer, softmax
from xla_inspect import Capture, InspectError, capture, capture_all
from xla_inspect.analysis.reasons import list_messages
from xla_inspect.compilation import logged_compile

from .conftest import note

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("all_targets")

TARGETS = ("cpu", "h100", "tpu-v5e")
FUSION = {"cpu": "instruction_fusion", "h100": "priority_fusion", "tpu-v5e": "tpu_instruction_fusion"}


@pytest.fixture(scope="module")
def captures() -> dict[str, Capture]:
    """The captures of the softmax with the compilers' reasons, by target."""
    return dict(capture_all(softmax.softmax, *softmax.EXAMPLE, reasons=True))


@pytest.mark.parametrize("target", TARGETS)
def test_each_compiler_logs_its_fusions_and_tried_rules(captures: dict[str, Capture], target: str) -> None:
    sources = {event.source for event in captures[target].log}
    assert {FUSION[target], "algebraic_simplifier", "layout_assignment", "copy_insertion"} - sources == set()


@pytest.mark.parametrize("target", TARGETS)
def test_every_pass_of_the_log_ran(captures: dict[str, Capture], target: str) -> None:
    ran = {(run.pipeline, run.name) for run in captures[target].runs}
    fusion_passes = {(event.pipeline, event.name) for event in captures[target].log if event.source == FUSION[target]}
    assert fusion_passes
    assert fusion_passes - ran == set()


@pytest.mark.parametrize("target", TARGETS)
def test_the_fused_instructions_of_the_log_are_in_the_capture(captures: dict[str, Capture], target: str) -> None:
    fused = {
        event.text.removeprefix("Fusing %").split(" ")[0] for event in captures[target].log if " into %" in event.text
    }
    names = {name for change in captures[target].passes for name in re.findall(r"%([\w.-]+) =", change.text)}
    assert len(fused & names) * 2 > len(fused), (fused - names, names)


@pytest.mark.parametrize("topic", ["fusion", "matmul"])
def test_each_logging_source_file_on_fusions_or_matmuls_has_explained_messages(topic: str) -> None:
    explained = {source for message in list_messages() if message.topic == topic for source in message.sources}
    # The steps of the GPU's cost model are no file's words.
    assert explained - {"fusion_log"} == logged_compile.TOPICS[topic].keys()


def test_each_logging_source_file_has_known_messages() -> None:
    sources = {source for message in list_messages() for source in message.sources}
    assert {*logged_compile.LEVELS} - {*logged_compile.TOPICS["passes"]} - sources == set()


def test_a_capture_is_the_same_with_and_without_reasons() -> None:
    plain = capture(layer.layer, *layer.EXAMPLE)
    with_reasons = capture(layer.layer, *layer.EXAMPLE, reasons=True)
    assert plain.log == ()
    assert with_reasons.log != ()
    assert with_reasons.retold(log=()) == plain


def test_reasons_are_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    calls = note(monkeypatch, logged_compile, "collect_log", lambda _, target: target)
    first, second = (capture(softmax.softmax, *softmax.EXAMPLE, reasons=True).log for _ in range(2))
    assert (first, calls) == (second, ["cpu"])


def test_a_killed_process_is_reported_with_its_output_and_replaced() -> None:
    capture(layer.layer, *layer.EXAMPLE, reasons=True)
    child = logged_compile._process()._child  # noqa: SLF001 - what a crash would end
    assert child
    os.kill(child.process.pid, signal.SIGKILL)
    with pytest.raises(InspectError, match="the compiler ended its process while it logged its reasons"):
        capture(layer.layer, *layer.EXAMPLE, reasons=True)
    assert capture(layer.layer, *layer.EXAMPLE, reasons=True).log


def test_a_failed_compilation_has_its_messages_up_to_the_failure() -> None:
    too_large = jax.ShapeDtypeStruct((1 << 17, 1 << 17), jnp.float32)
    with pytest.raises(jax.errors.JaxRuntimeError) as failed:
        capture(lambda x, y: x @ y, too_large, too_large, target="tpu-v5e", reasons=True)
    assert failed.value.capture.log  # type: ignore[attr-defined]  # added by capture


def test_an_endless_log_is_truncated_and_the_compilation_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logged_compile, "LIMIT", 10_000)
    whole = capture(softmax.softmax, *softmax.EXAMPLE, target="h100", reasons=True)
    assert 0 < sum(len(event.text) for event in whole.log) < 10_000


def test_the_process_ends_with_the_one_that_started_it() -> None:
    process = logged_compile.LoggedProcess(logged_compile.list_variables(logged_compile.LEVELS))
    child = process._start()  # noqa: SLF001 - what a compile starts
    assert child.process.stdin
    child.process.stdin.close()
    start = time.monotonic()
    assert (child.process.wait(60), time.monotonic() - start < 60) == (0, True)
