"""The process pool compiles edits, reports errors with their lines, and leaves no files."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from xla_inspect.compilation import capture
from xla_inspect.play.copied_texts import Copied
from xla_inspect.play.process_pool import Limits, ProcessPool
from xla_inspect.report.explorer import describe_capture

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODE = "import jax\n\n\ndef f(x):\n    print('said')\n    return jax.nn.softmax(x @ x)\n"


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    """A pool with short limits."""
    pool = ProcessPool(Limits(code=3, compile=60, memory=3 << 30), {"file": "edit.py", "package": "", "paths": []})
    yield pool
    pool.close()
    assert not pool.folder.exists()


def edit(code: str = CODE, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the page sends
    """Return a request to compile code for the CPU, with changes of its fields."""
    request = {"id": "1", "client": "a", "code": code, "function": "f", "arguments": "x: f32[8,8]", "targets": ["cpu"]}
    return {**request, "options": {}, **changes}


def fail(pool: ProcessPool, code: str, **changes: Any) -> tuple[str, int | None]:  # noqa: ANN401 - likewise
    """Compile an edit in the pool, and return the kind and the line of its only failure."""
    events = [*pool.answer_edit(edit(code, **changes))]
    (failure,) = [event["failure"] for event in events if event["event"] == "failed"]
    assert events[-1]["event"] == "done"
    return failure["kind"], failure["line"]


def test_an_edit_is_compiled_as_a_capture_is(pool: ProcessPool, tmp_path: Path) -> None:
    events = [*pool.answer_edit(edit())]
    assert [event["event"] for event in events if event["event"] not in {"output", "waiting"}] == [
        "started",
        "traced",
        "data",
        "data",
        "done",
    ]
    (output,) = [event["text"] for event in events if event["event"] == "output"]
    assert output == "said\n"
    lowered, whole = [event["data"] for event in events if event["event"] == "data"]
    assert lowered["jaxpr"] == whole["jaxpr"]
    assert lowered["stablehlo"] == whole["stablehlo"]
    assert [file for file, _ in whole["sources"]] == ["edit.py"]
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "edit.py").write_text(CODE)
    names: dict[str, Any] = {}
    exec(compile(CODE, str(tmp_path / "edit.py"), "exec"), names)  # noqa: S102 - the code above
    import jax

    same = capture(names["f"], jax.ShapeDtypeStruct((8, 8), "float32"))
    expected = describe_capture(same.retold(sources={"edit.py": CODE}), code=True)
    assert whole["states"] == expected["states"]
    assert pool.details("1", "cpu")["code"]


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("def f(x):\n    return x +\n", "syntax", 2),
        ("import no_such_module\n", "loading", 1),
        ("def f(x):\n    y = x\n    return y @ y[:3]\n", "tracing", 3),
        ("def f(x):\n    if x.sum() > 0:\n        return x\n", "tracing", 2),
        ("def f(x):\n    while True: pass\n", "time", 2),
        ("import re\n\ndef f(x):\n    re.match('(a+)+$', 'a' * 64 + 'b')\n", "time", 4),
        ("import os\n\nos.abort()\n", "crash", 3),
        ("import os\n\ndef f(x):\n    os._exit(0)\n", "crash", None),
        ("def g(x):\n    return x\n", "arguments", None),
        ("import numpy\n\nheld = numpy.ones(10**10)\n", "memory", 3),
    ],
)
def test_an_error_is_reported_with_its_line(pool: ProcessPool, code: str, kind: str, line: int | None) -> None:
    assert fail(pool, code) == (kind, line)


@pytest.mark.parametrize("turn", range(3))
def test_slow_code_is_reported_as_slow_at_any_call_depth(pool: ProcessPool, turn: int) -> None:
    """Three repetitions, because reading the stack of a running thread may crash, as it did in one or two of three."""
    code = "import jax.numpy as jnp\n\ndef f(x):\n    for turn in range(10**6):\n        x = jnp.sin(x) + turn\n"
    assert fail(pool, f"{code}    return x - {turn}\n") == ("time", 5)


@pytest.mark.usefixtures("all_targets")
def test_a_convolution_compiles_for_an_amd_gpu_that_is_not_present(pool: ProcessPool) -> None:
    code = "import jax\n\ndef f(x, w):\n    return jax.lax.conv(x, w, (1, 1), 'SAME')\n"
    request = edit(code, arguments="x: f32[8,16,32,32], w: f32[32,16,3,3]", targets=["mi300x"])
    assert [event["event"] for event in pool.answer_edit(request)][-2:] == ["data", "done"]


def test_an_option_rejected_by_the_compiler_is_reported(pool: ProcessPool) -> None:
    assert fail(pool, CODE, options={"flags": {"xla_nothing": "1"}})[0] == "compiler"


def test_a_program_too_large_for_the_device_is_reported_with_the_compilers_message(pool: ProcessPool) -> None:
    """The compiler gives up after it has written dumps, from which a capture of the failure is read."""
    code = "import jax.numpy as jnp\n\ndef f(x):\n    return jnp.sort(x @ x, axis=0)\n"
    events = [*pool.answer_edit(edit(code, arguments="x: f32[65536,65536]", targets=["tpu-v5e"]))]
    (failure,) = [event["failure"] for event in events if event["event"] == "failed"]
    assert failure["kind"] == "compiler"
    assert "Ran out of memory" in failure["message"]
    assert "AttributeError" not in failure["message"]


def test_a_mesh_of_devices_is_compiled_for(pool: ProcessPool) -> None:
    events = [*pool.answer_edit(edit(options={"mesh": "data=4"}))]
    (data,) = [event["data"] for event in events if event["event"] == "data"]
    assert data["target"] == "cpu:4"


def test_a_newer_edit_replaces_an_older_one(pool: ProcessPool) -> None:
    older: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: older.extend(pool.answer_edit(edit("while True:\n    pass\n"))))
    thread.start()
    time.sleep(0.5)
    assert [*pool.answer_edit(edit())][-1]["event"] == "done"
    thread.join(5)
    assert older[-1]["event"] == "superseded"


def test_a_copied_test_passes_and_a_copied_issue_runs(pool: ProcessPool, tmp_path: Path) -> None:
    request = edit()
    [*pool.answer_edit(request)]
    copied = Copied(request, "edit.py", "x: f32[8,8]", {"jax": "1"}, pool.recall(request))
    for kind, command in {"test": ["-m", "pytest", "-q", "-p", "no:cacheprovider"], "issue": []}.items():
        file = tmp_path / f"test_{kind}.py"
        text = copied.write(kind)
        assert text is not None
        file.write_text(text)
        ran = subprocess.run([sys.executable, *command, str(file)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert copied.write("command") == "xla-inspect report edit.py:f --target cpu --args 'f32[8,8]'"
    unsaved = replace(copied, is_saved=False)
    first, second = str(unsaved.write("command")).split("\n")
    assert first == "# first save the playground's code as edit.py: Share, Download"
    assert second == copied.write("command")
    assert copied.write("poem") is None
