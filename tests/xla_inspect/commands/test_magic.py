"""The command in a notebook, run in a separate kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

CELLS: Mapping[str, str] = {
    "load": "import jax, jax.numpy as jnp\n%load_ext xla_inspect\nprint(jax.devices())",
    "define": "def scores(q, k):\n    s = q @ k.T\n    p = jnp.tanh(s) + jnp.sort(s)\n    return p\n"
    "q = jnp.ones((64, 32))",
    "memory": "%%xla memory --target cpu\nscores(q, q)",
    "summary": "%%xla\nscores(q, q)",
    "suggested": "%xla memory --try donate 'scores(q, q)' --target cpu",
    "unquoted": "%xla memory scores(q, q) --target cpu",
    "by name": "%xla memory scores --target cpu",
    "kernels": "%xla kernels scores --target cpu",
    "defined below": "%%xla kernels --target cpu\ndef double(x):\n    return x * 2\ndouble(q)",
    "still defined": "double(jnp.ones(2)).tolist()",
    "apart": "%%xla why --apart s,p --target cpu\nscores(q, q)",
    "misspelt": "%%xla memroy\nmissing(q)",
    "misspelt option": "%xla memory --taget cpu scores(q, q)",
    "json": "%%xla memory --json --target cpu\nscores(q, q)",
    "help": "%%xla memory --help",
    "first screen": "%xla",
    "no call": "%%xla memory\nx = 3",
    "no target": "%%xla memory --target tpu-v9\nscores(q, q)",
    "donated": "%%xla memory --donate 0 --target cpu\nscores(q, q)",
    "stage": "%%xla show --stage jaxpr\nscores(q, q)",
    "tpu": "%%xla memory --target tpu-v5e\nscores(q, q)",
    "spread": "%%xla memory --mesh data=8 --target cpu\nscores(q, q)",
    "of files": "%%xla diff\nscores(q, q)",
    "capture": "from xla_inspect import capture\ncapture(scores, q, q)",
    "library": "import pathlib, sys, tempfile\n"
    "folder = pathlib.Path(tempfile.mkdtemp(), 'site-packages')\nfolder.mkdir()\n"
    "_ = (folder / 'deep.py').write_text('def twice(x):\\n    return x + x\\n')\n"
    "sys.path.append(str(folder))\nimport deep",
    "of a library": "%%xla kernels --lines-of deep --target cpu\n"
    "def own(x):\n    return deep.twice(jnp.sort(x))\nown(q)",
    "of no library": "%xla memory --lines-of flax --target cpu scores(q, q)",
    "devices": "print(jax.devices())",
}


RUN = """
import json, sys, nbformat
from nbclient import NotebookClient
cells = json.loads(sys.argv[1])
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells.values()])
NotebookClient(notebook, timeout=300, allow_errors=True, kernel_name="python3").execute()
shown = {}
for name, cell in zip(cells, notebook.cells):
    parts = (each.get("text") or each.get("data", {}).get("text/plain") or each.get("evalue") for each in cell.outputs)
    shown[name] = "".join(filter(None, parts))
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def outputs() -> Mapping[str, str]:
    """The text output of each cell by its name, and other output of the kernel under `end`."""
    command = [sys.executable, "-c", RUN, json.dumps(CELLS)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    answers: dict[str, str] = json.loads(result.stdout.splitlines()[-1])
    return {**answers, "end": result.stderr}


FIRST = "scores on CPU needs "
EXPECTED: Mapping[str, str] = {
    "load": "[CpuDevice(id=0)]",
    "devices": "[CpuDevice(id=0)]",
    "suggested": FIRST,
    "unquoted": FIRST,
    "by name": FIRST,
    "still defined": "[2.0, 2.0]",
    "misspelt": "xla: there is no command 'memroy'; did you mean 'memory'?\n",
    "misspelt option": "xla-inspect memory: there is no option '--taget'; did you mean '--target'?\n",
    "help": "usage: xla-inspect memory ",
    "first screen": "usage: xla-inspect COMMAND",
    "no call": "xla: the last line of the cell must be the call to inspect",
    "no target": "xla: no target is named 'tpu-v9'",
    "stage": "{ lambda ; a:f32[64,32]",
    "spread": "scores on CPU x 8 needs ",
    "of files": "xla: diff needs a file",
    "of no library": "xla: --lines-of: there is no package 'flax' here; the program has lines of no package",
    "capture": "<Capture of scores for cpu: ",
}


@pytest.mark.parametrize("cell", EXPECTED)
def test_a_cell_is_answered(cell: str, outputs: Mapping[str, str]) -> None:
    text = "\n".join(line for line in outputs[cell].split("\n") if not line.endswith(" ..."))
    assert text.lstrip("\n").startswith(EXPECTED[cell])


def test_answers_name_the_cell_and_the_line(outputs: Mapping[str, str]) -> None:
    assert "`p = jnp.tanh(s) + jnp.sort(s)`" in outputs["memory"]
    assert "cell 2:3 " in outputs["memory"]
    # The magic is the first line of the cell.
    assert "cell 10:3 return x * 2; [mul]" in outputs["defined below"]
    assert "`cell 2:2`: `s = q @ k.T`" in outputs["apart"]


def test_answers_name_the_lines_of_a_library(outputs: Mapping[str, str]) -> None:
    assert "deep.py:2 return x + x; " in outputs["of a library"]
    assert "--lines-of deep" in outputs["of a library"]


def test_suggested_commands_can_be_run_in_a_cell(outputs: Mapping[str, str]) -> None:
    assert "%xla memory 'scores(q, q)'" in outputs["summary"]
    assert "%xla kernels --kernel " in outputs["kernels"]
    assert not [
        name for name in ("summary", "kernels", "apart", "by name", "defined below") if "xla-inspect " in outputs[name]
    ]


def test_a_cell_gives_json(outputs: Mapping[str, str]) -> None:
    text = outputs["json"]
    assert json.loads(text[text.index("{") :])["rows"][0]["place"].startswith("cell 2:")


def test_options_of_the_call_are_applied_in_a_cell(outputs: Mapping[str, str]) -> None:
    assert "donated" in outputs["donated"]


@pytest.mark.usefixtures("all_targets")
def test_nothing_is_printed_when_the_kernel_ends(outputs: Mapping[str, str]) -> None:
    assert "scores on TPU v5e needs " in outputs["tpu"]
    assert "SIGTERM" not in outputs["end"]
