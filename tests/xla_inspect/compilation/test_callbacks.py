"""Python callbacks on the host: compiled for every target, and shown as callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import io_callback

from xla_inspect import capture, capture_all
from xla_inspect.analysis import HOST_CALL, calls_host
from xla_inspect.commands import run_here
from xla_inspect.report import markdown, views
from xla_inspect.report.explorer import describe_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

VECTOR = jax.ShapeDtypeStruct((8,), jnp.float32)
GPU = "xla_ffi_python_gpu_callback"
CALLS = {"cpu": "xla_ffi_python_cpu_callback", "h100": GPU, "b200": GPU, "tpu-v5e": ""}
"""The target of the custom call by which each target calls the host; empty for a TPU, which uses transfers."""


def host(x: np.ndarray) -> np.ndarray:
    return x + 1


def pure(x: jax.Array) -> jax.Array:
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2


def ordered(x: jax.Array) -> jax.Array:
    result: jax.Array = io_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
    return result * 2


def printed(x: jax.Array) -> jax.Array:
    jax.debug.print("the sum is {total}", total=x.sum())
    return x * 2


FUNCTIONS = (pure, ordered, printed)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", CALLS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_callback_is_compiled_for_every_target_and_known_for_one(
    function: Callable[..., jax.Array], target: str
) -> None:
    program = capture(function, VECTOR, target=target)
    calls = [instruction for instruction in program.module.entry if calls_host(instruction)]
    if CALLS[target]:
        assert [call.custom_call_target for call in calls] == [CALLS[target]]
    else:
        assert [call.opcode for call in calls] == ["send", "send-done", "recv", "recv-done"]
    frames = program.frames[next(call.stack_frame for call in calls if call.stack_frame is not None)]
    assert Path(frames[0].file).name == "test_callbacks.py"


@pytest.mark.usefixtures("all_targets", "folder")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_program_with_a_callback_is_found_in_the_cache(
    function: Callable[..., jax.Array], compiles: list[str]
) -> None:
    for target in ("cpu", "h100", "tpu-v5e") * 2:
        capture(function, VECTOR, target=target)
    assert compiles == ["cpu", "h100", "tpu-v5e"]


@pytest.mark.usefixtures("all_targets")
def test_a_listing_says_which_launches_call_the_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captures = capture_all(pure, VECTOR)
    launches_by_target = {
        target: describe_kernels(capture, lambda _: 0)["launches"] for target, capture in captures.items()
    }
    kinds = {
        target: [launch["kind"] for launch in launches if HOST_CALL in launch["kind"]]
        for target, launches in launches_by_target.items()
    }
    assert kinds == {
        "cpu": ["custom-call, host callback"],
        "h100": ["kCustomCall, host callback"],
        "tpu-v5e": ["send, host callback", "recv, host callback"],
    }
    assert f"| {markdown.code('custom-call')}, {HOST_CALL} |" in views.show_kernels(captures["h100"])
    file = tmp_path / "called.py"
    text = "import jax\nEXAMPLE = (1.0,)\ndef called(x):\n    jax.debug.print('{x}', x=x)\n    return x * 2\n"
    file.write_text(text, encoding="utf-8")
    assert run_here(["show", f"{file}:called", "--target", "h100", "--stage", "kernels"]) == 0
    assert [line.endswith("custom-call  host callback") for line in capsys.readouterr().out.splitlines()] == [
        False,
        True,
    ]
