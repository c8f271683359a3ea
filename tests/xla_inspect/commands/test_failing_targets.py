"""An error of one target does not affect the others, and names the machine if it is the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.commands import command_line, user_code

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((16, 16), jnp.float32),)


def schur(x):
    return jax.scipy.linalg.schur(x)


def product(x):
    return x @ x
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "decompose.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return str(file)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("order", [("cpu", "h100"), ("h100", "cpu")])
@pytest.mark.parametrize("question", ["summary", "memory", "kernels"])
def test_the_other_target_is_answered_for(
    question: str, order: tuple[str, str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [word for target in order for word in ("--target", target)]
    assert command_line.run_here([question, f"{program}:schur", *targets]) == 2
    captured = capsys.readouterr()
    assert "schur" in captured.out.partition("\n")[0]
    assert "on CPU" in captured.out
    assert "xla-inspect: h100: " in captured.err
    assert "JAX does not implement this primitive" in captured.err
    assert "fix this error" not in captured.err


@pytest.mark.parametrize(
    ("message", "status", "advice"),
    [
        (
            "INTERNAL: jaxlib/gpu/rnn_kernels.cc:57: operation gpudnnCreate(&handle) failed: cuDNN not found.",
            3,
            "cuDNN",
        ),
        ("cuDNN not found.", 3, "pass another target"),
        ("Unable to load hipSOLVER: no such file", 3, "hipSOLVER"),
        ("Unable to initialize backend 'tpu': No jellyfish device found.", 2, "remove jax_platforms from the file"),
        ("MLIR translation rule for primitive 'schur' not found for platform cuda", 2, "pass another target"),
        ("exceeds available shared memory: smem_bytes=1048576 > max_smem_bytes=232448", 2, "take smaller blocks"),
        ("no such luck", 2, "fix this error"),
    ],
)
def test_an_error_gives_a_remedy_and_missing_packages(message: str, status: int, advice: str) -> None:
    error = RuntimeError(message)
    assert user_code.find_status(error) == status
    assert advice in user_code.explain_user_error(error, "model.py")


@pytest.mark.usefixtures("all_targets")
def test_an_unwritable_temporary_folder_is_reported(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.setenv("TMPDIR", "/nowhere")

    def fail(*_: object, **__: object) -> None:
        message = "INTERNAL: Failed to get configs for: 2"
        raise RuntimeError(message)

    monkeypatch.setattr("xla_inspect.compilation.dump_compile.compile_with_dumps", fail)
    assert command_line.run_here(["memory", f"{program}:product", "--target", "h100"]) == 2
    error_text = " ".join(capsys.readouterr().err.split())
    assert "none can be written to /nowhere (No such file or directory)" in error_text
    assert "set TMPDIR to another folder" in error_text


@pytest.mark.parametrize("question", [["memory"], ["why", "--what", "dot"]])
def test_changes_to_try_may_have_blanks_between_them(
    question: list[str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"{program}:product", "--target", "cpu", "--try"]
    assert command_line.run_here([*question, *arguments, "donate, batch"]) == 0
    assert command_line.run_here([*question, *arguments, "donate, luck"]) == 2
    assert "there is no 'luck' to try, only donate" in capsys.readouterr().err
