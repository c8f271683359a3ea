"""The command `xla-inspect`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from xla_inspect import TARGETS, InspectError
from xla_inspect.commands import command_line, targets
from xla_inspect.compilation import MEMORY, PREFIX

LAYER = str(Path(__file__).resolve().parents[3] / "snippets" / "programs" / "layer.py")


def test_targets_lists_each_target_with_a_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "available", lambda: {"cpu": "", "h100": "no compiler"})
    assert command_line.main(["targets"]) == 0
    assert capsys.readouterr().out == "cpu      available\nh100     no compiler\n"
    assert max(map(len, TARGETS)) == 7


def test_python_runs_it_by_the_name_of_the_package_too() -> None:
    command = [sys.executable, "-m", "xla_inspect", "memory", "nowhere.hlo"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("xla-inspect: there is no file")


@pytest.mark.parametrize(
    ("stage", "start"),
    [
        ("jaxpr", "{ lambda ; a:f32[64,128]"),
        ("stablehlo", "module @jit_layer"),
        ("before", "HloModule jit_layer"),
        ("after", "HloModule jit_layer, is_scheduled=true"),
        ("passes", "150 pass runs, of which "),
        ("buffers", "BufferAssignment:"),
        ("kernels", "ynn_fusion"),
        ("code", "layer on CPU: 1 kernel with 256-bit vectors; 1 of 1 innermost loop vectorized.\n"),
    ],
)
def test_show_prints_a_stage(stage: str, start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here(["show", f"{LAYER}:layer", "--stage", stage]) == 0
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_report_writes_one_file_and_plans_the_memory_with_an_argument_donated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, donated = tmp_path / "plain.html", tmp_path / "donated.html"
    arguments = ["report", f"{LAYER}:layer", "--target", "cpu", "-o"]
    assert (
        command_line.run_here([*arguments, str(plain)])
        == command_line.run_here([*arguments, str(donated), "--donate", "0"])
        == 0
    )
    size = f"{plain.stat().st_size:,}"
    assert capsys.readouterr().out.startswith(f"{plain} with {size} bytes was written; open it in a browser\n")
    assert donated.stat().st_size > plain.stat().st_size


@pytest.mark.usefixtures("all_targets")
def test_a_report_contains_code_and_reasons_by_default(tmp_path: Path) -> None:
    sizes = []
    for options in ([], ["--no-machine"], ["--no-machine", "--no-reasons"]):
        path = tmp_path / f"{len(options)}.html"
        arguments = ["report", f"{LAYER}:layer", "--target", "tpu-v5e", *options, "-o", str(path)]
        assert command_line.run_here(arguments) == 0
        sizes.append(path.stat().st_size)
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) == 3


def test_a_report_marks_the_passes_that_change_bits_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = tmp_path / "report.html", tmp_path / "model.py"
    file.write_text("import jax.numpy as jnp\ndef double(x): return x * 2\n", encoding="utf-8")
    options = ["--args", "f32[8]", "--target", "cpu", "--no-machine", "--no-reasons", "--numbers", "-o", str(path)]
    assert command_line.run_here(["report", f"{file}:double", *options]) == 0
    assert '"numbers":{"note":"double on CPU: no pass changes a bit' in path.read_text(encoding="utf-8")
    options[1] = "f32[1073741824]"
    assert command_line.run_here(["report", f"{file}:double", *options, "--force"]) == 0
    assert "cpu has no marks on passes that change bits: the inputs have 4 GiB" in capsys.readouterr().out


@pytest.mark.usefixtures("all_targets")
def test_a_report_lists_parts_that_the_compiler_did_not_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        message = "the compiler ended its process"
        raise InspectError(message)

    monkeypatch.setattr("xla_inspect.compilation.llo_dumps.collect_low_level", fail)
    path = tmp_path / "layer.html"
    assert command_line.run_here(["report", f"{LAYER}:layer", "--target", "tpu-v5e", "-o", str(path)]) == 0
    output = capsys.readouterr().out
    assert "tpu-v5e lacks the machine code of GPUs and TPUs: the compiler ended its process\n" in output
    assert "lacks compiler messages" not in output
    assert f"{path} with " in output


def test_each_running_compilation_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["show", f"{LAYER}:layer"]) == 0
    # A machine that is slow to load the file says that too, before.
    assert capsys.readouterr().err.splitlines()[-1] == "compiling layer for cpu ..."


ENDS = 'take out what ends Python, or put it under `if __name__ == "__main__":`'
# How a file may end the process that runs it: its text, and one line of what and where, and one of what to do.
DOES = {
    "ends Python as it is loaded": ("EXAMPLE = (1.0,)\nimport sys\nsys.exit(0)", ":3: sys.exit(0) ends Python", ENDS),
    "leaves as it is loaded": ("from os import _exit\n_exit(0)", ":2: os._exit(0) ends Python", ENDS),
    "leaves as it is traced": ("import os\ndef f(x):\n    os._exit(0)", ":3: os._exit(0) ends Python", ENDS),
    "crashes": (
        "import ctypes\ndef f(x):\n    ctypes.string_at(0)",
        ":3: the process that ran this file ended early (signal SIGSEGV)",
        "the code at this line crashed",
    ),
    "is killed": (
        "import os\ndef f(x):\n    os.kill(os.getpid(), 9)",
        ": the process that ran this file ended early (signal SIGKILL)",
        "the system ends a process so when memory runs out",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize("deed", DOES)
def test_a_file_that_ends_its_process_is_reported_with_place_and_remedy(
    deed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, what, to_do = DOES[deed]
    file = tmp_path / "model.py"
    file.write_text(f"{text}\nEXAMPLE = (1.0,)\n", encoding="utf-8")
    assert command_line.main(["show", f"{file}:f", "--target", "cpu"]) == 2
    output = capsys.readouterr()
    lines = [line for line in output.err.splitlines() if "Fatal Python error" not in line and not line.endswith(" ...")]
    assert output.out == ""
    assert lines[0].startswith(f"xla-inspect: {file}{what}")
    assert lines[1].startswith(to_do)
    assert len(lines) == 2


@pytest.mark.usefixtures("all_targets")
def test_a_crash_names_the_last_call_of_a_library_that_stands_in_for_rocms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The number of the last call is in the cache, where it outlives the process.
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.py"
    file.write_text(
        "import ctypes, os\nfrom xla_inspect.targets import find_target\nEXAMPLE = (1.0,)\n"
        "def f(x):\n    find_target('mi300x').devices()\n"
        "    ctypes.CDLL('libamdhip64.so.7').hipGetDeviceCount(None)\n    os.abort()\n",
        encoding="utf-8",
    )
    assert command_line.main(["show", f"{file}:f", "--target", "mi300x"]) == 2
    last = "The last call of a ROCm library was hipGetDeviceCount of libamdhip64.so.7, which is a stand-in here."
    assert capsys.readouterr().err.splitlines()[-1] == last


def test_the_whole_traceback_is_shown_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.py"
    file.write_text("EXAMPLE = (1.0,)\ndef f(x):\n    raise ValueError('so')\n", encoding="utf-8")
    assert command_line.run_here(["show", f"{file}:f", "--debug"]) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_threads_that_a_file_leaves_running_do_not_block_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import atexit, os, threading, time\nEXAMPLE = (1.0,)\natexit.register(lambda: os._exit(5))\n"
        "threading.Thread(target=time.sleep, args=(1000,)).start()\ndef f(x):\n    print('traced')\n    return x\n",
        encoding="utf-8",
    )
    assert command_line.main(["show", f"{file}:f", "--stage", "jaxpr"]) == 0
    assert capsys.readouterr().out == "{ lambda ; a:f32[]. let  in (a,) }\n"


LARGE = """
import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((1 << 16, 1 << 16), jnp.float32),)
def large(x):
    return -x
"""


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("stage", "start"), [("memory", "Memory Space: default"), ("after", "HloModule jit_large")])
def test_an_out_of_memory_compilation_shows_the_stage_and_the_compilers_message(
    stage: str, start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.py"
    file.write_text(LARGE, encoding="utf-8")
    assert command_line.run_here(["show", f"{file}:large", "--target", "tpu-v5e", "--stage", stage]) == 1
    output = capsys.readouterr()
    assert output.out.startswith(start)
    message = "xla-inspect: compiling for tpu-v5e failed: out of HBM ("
    assert message in output.err


@pytest.mark.usefixtures("all_targets")
def test_a_report_contains_the_other_targets_if_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "model.py", tmp_path / "page.html"
    file.write_text(LARGE, encoding="utf-8")
    options = ["--target", "tpu-v5e", "--target", "cpu", "-o", str(page)]
    assert command_line.run_here(["report", f"{file}:large", *options]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("tpu-v5e omitted: out of HBM (")
    assert second.startswith(f"{page} with ")


SLOW = """
import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((64, 64), jnp.float32),)
def waits_to_be_ended(x):
    for _ in range(400):
        x = jnp.tanh(x @ x) + jnp.sort(x)
    return x
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM on Windows")
def test_a_terminated_command_ends_its_process_and_removes_its_dumps(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW, encoding="utf-8")
    command = [sys.executable, "-m", "xla_inspect.commands", "show", f"{file}:waits_to_be_ended"]
    process = subprocess.Popen(command, env={**os.environ, "XLA_INSPECT_CACHE": "off"}, stderr=subprocess.PIPE)

    def find_dumps() -> list[Path]:
        parents = (MEMORY, Path(tempfile.gettempdir()))
        return [path for parent in parents for path in parent.glob(f"{PREFIX}*/*waits_to_be_ended*")]

    deadline = time.monotonic() + 120
    while not find_dumps():
        assert time.monotonic() < deadline, "it wrote no dumps"
        time.sleep(0.01)
    process.terminate()
    # It ends when both have: the stream is that of the other process too.
    process.communicate(timeout=60)
    assert (process.returncode, find_dumps()) == (143, [])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no `head` on Windows")
def test_a_closed_pipe_ends_the_command_silently() -> None:
    shown_command = shlex.join(
        [sys.executable, "-m", "xla_inspect.commands", "show", f"{LAYER}:layer", "--stage", "before"]
    )
    command = f"{shown_command} | head -n 1"
    result = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True)
    assert result.stdout.startswith("HloModule jit_layer")
    # A busy machine reports its progress more than once.
    assert [line for line in result.stderr.splitlines() if not line.startswith("compiling layer for cpu")] == []
