"""Invalid input gets one line for the error and one for the remedy, never silence, a traceback or a hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bad_inputs import ADVICE, ARGUMENTS, CODE, EXAMPLE

from xla_inspect.commands import command_line

GOOD = f"{EXAMPLE}def f(x): return x + 1\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "old.json").write_text('{"format": 1}', encoding="utf-8")


def check(message: str, expected: str) -> None:
    lines = [line for line in message.splitlines() if line.startswith("xla-inspect: ")]
    assert lines, message
    assert expected in lines[0]
    assert "Traceback" not in message
    assert "\x1b" not in message
    assert len(message.splitlines()) <= 4, message


@pytest.mark.parametrize("case", CODE)
def test_invalid_code_is_reported_with_its_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, name, expected = CODE[case]
    (tmp_path / "m.py").write_bytes((EXAMPLE + text + "\n").encode("utf-8", "surrogateescape"))
    status = command_line.run_here(["memory", f"m.py:{name}", "--target", "cpu"])
    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    check(output.err, expected)
    assert f"\n{ADVICE.get(case, '')}" in output.err


@pytest.mark.parametrize("case", ARGUMENTS)
def test_invalid_arguments_are_reported(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, expected = ARGUMENTS[case]
    status = command_line.run_here(["memory", *words, *([] if "--target" in words else ["--target", "cpu"])])
    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    check(output.err, expected)


@pytest.mark.parametrize(
    ("text", "limit", "message"),
    [
        ("import time\nwhile True:\n    time.sleep(0.1)\n", 3, "loop.py:3: loading loop.py"),
        ("import itertools\nsum(itertools.repeat(1))\n", 3, "loop.py:2: loading or tracing it"),
        ("def f(x):\n    while True:\n        x = x + 1\n", 25, "loop.py:3: tracing f"),
    ],
)
def test_code_that_hangs_is_ended_and_its_line_reported(text: str, limit: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(text, encoding="utf-8")
    result = ask("memory", "loop.py:f", "--args", "f32[2]", "--target", "cpu", "--load-limit", str(limit))
    assert result.returncode == 2
    assert f"{message} did not finish within {limit} s" in result.stderr
    assert "--load-limit" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jax.py", "import jax.numpy as jnp\n", "jax.py shadows the package 'jax'"),
        ("numpy.py", "import numpy\nnumpy.ones(3)\n", "numpy.py shadows the package 'numpy'"),
        ("other.py", "def f(x, *, by): return x * by\nEXAMPLE = (1.0,)\n", "EXAMPLE_KWARGS"),
    ],
)
def test_the_advice_names_the_file_or_the_name_that_helps(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    result = ask("memory", "m.py:f", "--target", "cpu")
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_answer_is_written_in_any_encoding(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "\u03bb.py").write_text(GOOD, encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    result = ask("memory", "\u03bb.py:f", "--target", "cpu")
    assert result.returncode == 0
    assert "f on CPU needs " in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_an_unwritable_answer_is_a_failure() -> None:
    command = [sys.executable, "-m", "xla_inspect.commands", "memory", "m.py:f", "--target", "cpu"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2
    assert "cannot write the answer: " in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes as these")
def test_the_process_ends_if_its_parent_is_killed(tmp_path: Path) -> None:
    text = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)\n"
    (tmp_path / "wait.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "xla_inspect.commands", "memory", "wait.py:f"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text(encoding="utf-8"):
            time.sleep(0.05)
        process.kill()
    child = int((tmp_path / "pid").read_text(encoding="utf-8"))
    end = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_an_unknown_target_is_reported_before_the_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("print('loaded')\n", encoding="utf-8")
    result = ask("memory", "m.py:f", "--target", "mi300")
    assert (result.returncode, "loaded" in result.stderr) == (2, False)
    assert "no target is named 'mi300'" in result.stderr


def test_a_name_with_terminal_escapes_does_not_reach_the_terminal(tmp_path: Path) -> None:
    text = f"{EXAMPLE}def f(x): return x\nf.__name__ = '\\x1b[31mred'\nglobals()['f'] = f\n"
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    result = ask("m.py:f", "--target", "cpu")
    assert (result.returncode, "\x1b" in result.stdout + result.stderr) == (0, False)


def test_a_target_that_is_not_installed_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xla_inspect.targets.devices.find_version", lambda _: None)
    assert command_line.run_here(["memory", "m.py:f", "--target", "tpu-v5e"]) == 3
    assert "libtpu" in capsys.readouterr().err


def test_output_of_the_code_is_not_part_of_the_answer(tmp_path: Path) -> None:
    text = f"import os\nprint('loaded')\nos.system('echo from the shell')\n{GOOD}"
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    result = ask("m.py:f", "--target", "cpu", "--json")
    assert result.stdout.startswith("{")
    assert "loaded" in result.stderr
    assert "from the shell" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_an_interrupt_ends_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    command = [sys.executable, "-m", "xla_inspect.commands", "memory", "wait.py:f"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        while "here" not in process.stderr.readline():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        error_text = process.stderr.read()
    assert process.returncode == 130
    assert error_text.strip().splitlines()[-1] == "xla-inspect: interrupted"
    assert "Traceback" not in error_text


def ask(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "xla_inspect.commands", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
