"""Dumps as subjects: the table of modules, each question without JAX, and robust reading."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from bad_dumps import DUMPS, MODULE, write_module

from xla_inspect.commands import command_line

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_JAX = """
import sys
class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"jax", "jaxlib", "numpy"}:
            raise ImportError(f"{name} was imported")
sys.meta_path.insert(0, Refusal())
from xla_inspect.commands import main
statuses = []
for line in sys.stdin.read().splitlines():
    print("##", line, flush=True)
    statuses.append(main(line.split()))
print("##", statuses)
"""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of a step for the CPU by JAX alone, with the modules between passes."""
    folder = tmp_path_factory.mktemp("dumps") / "dump"
    options = {"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": ".*"}

    def step(x: jax.Array, w: jax.Array) -> jax.Array:
        return x - jax.grad(lambda x: jnp.sum(jnp.tanh(x @ w)))(x)

    shape = jax.ShapeDtypeStruct((16, 16), jnp.float32)
    jax.jit(step, donate_argnums=0).lower(shape, shape).compile(compiler_options=options)
    return folder


QUESTIONS = (
    "read {0}",
    "read {0}:jit_step",
    "summary {0}",
    "memory {0}:jit_step",
    "kernels {0} --all",
    "collectives {0}",
    "passes {0} --changes",
    "why {0}",
    "diff {0} {0}:step",
    "show {0} --stage before",
    "show {0} --stage code",
    "report {0} -o {1}/report.html",
    "memory {0} --json",
    "summary {0} --html {1}/summary.html",
    "memory {2}",
)


def test_each_question_is_answered_without_jax(dump: Path, tmp_path: Path) -> None:
    after = next(path for path in dump.iterdir() if path.name.endswith("cpu_after_optimizations.txt"))
    lines = "\n".join(question.format(dump, tmp_path, after) for question in QUESTIONS)
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAX], input=lines, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.stdout.splitlines()[-1] == f"## {[0] * len(QUESTIONS)}", result.stderr
    assert "was imported" not in result.stderr
    answers = dict(part.split("\n", 1) for part in result.stdout.split("## ")[1:-1])
    parts = {question: answers[question.format(dump, tmp_path, after)] for question in QUESTIONS}
    assert "dump contains 1 module" in parts[QUESTIONS[0]]
    there, missing = parts[QUESTIONS[1]].split("Missing information")
    assert "the optimized module" in there
    assert "cannot be read" not in there
    assert "the jaxpr" in missing
    assert "test_read.py:" in parts["summary {0}"]
    assert " on CPU needs " in parts["memory {0}:jit_step"]
    assert "is not known: there is no buffer assignment in this dump" in " ".join(parts["memory {2}"].split())
    assert "Passes that changed the module" in parts["passes {0} --changes"]
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert json.loads(parts["memory {0} --json"])["needed_bytes"] > 2 * 16 * 16 * 4


def ask(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    return command_line.run_here(words, out), out.getvalue()


def test_the_suggested_command_about_a_dump_of_unknown_hardware_runs(tmp_path: Path) -> None:
    instruction = "ROOT send = (f32[8], u32[], token[]) send(x, t)"
    entry = f"ENTRY e {{\n  x = f32[8] parameter(0)\n  t = token[] after-all()\n  {instruction}\n}}\n"
    (tmp_path / "m.hlo").write_text(f"HloModule m, is_scheduled=true\n\n{entry}", encoding="utf-8")
    _, text = ask("kernels", str(tmp_path / "m.hlo"))
    command = text.replace("\\\n", "").partition("xla-inspect ")[2].partition("\n")[0].split()
    assert (command[-1], ask(*command)[0]) == ("unknown", 0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("mesh['a'=2,'b'=2] {'c'}", "line 9, column 71: axis 'c' is not a valid axis name"),
        ("{{,,1}}", "line 9, column 51: expects integer"),
    ],
)
def test_a_text_that_xla_rejects_is_not_reported_as_an_error_of_the_tool(
    groups: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sum_of = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    line = f"ROOT r = f32[8] all-reduce(p), replica_groups={groups}, to_apply=add"
    path = tmp_path / "bad.hlo"
    path.write_text(f"HloModule m\n{sum_of}ENTRY e {{\n  p = f32[8] parameter(0)\n  {line}\n}}\n", encoding="utf-8")
    assert ask("summary", str(path)) == (2, "")
    assert f"bad.hlo: {message}" in capsys.readouterr().err


def test_missing_parts_are_reported_as_text_and_as_json(dump: Path) -> None:
    _, text = ask("why", str(dump))
    assert "These files lack: the compiler's reasons (a dump holds nothing of" in " ".join(text.split())
    _, output = ask("why", str(dump), "--json")
    assert json.loads(output)["absent"]["log"].startswith("a dump holds nothing of")


def test_a_recompilation_is_reported_with_the_arguments_that_differ(tmp_path: Path) -> None:
    for number, size in ((1, 4), (3, 8), (5, 8)):
        header = f"HloModule jit_step, is_scheduled=true, entry_computation_layout={{(f32[{size}]{{0}}, s32[])->f32[]}}"
        write_module(tmp_path / "d", number, "jit_step", f"{header}\n\nENTRY e {{\n  ROOT c = f32[] constant(1)\n}}\n")
    status, text = ask("recompiles", str(tmp_path / "d"))
    assert status == 0
    assert text.startswith("d contains 3 modules. Compiled more than once: jit_step 3 times.")
    assert "module_0003  argument 0: f32[4] became f32[8]" in text
    assert "module_0005  same arguments" in text
    assert ask("recompiles", str(tmp_path / "d"), "--at-most", "2")[0] == 1
    _, output = ask("recompiles", str(tmp_path / "d"), "--json")
    assert json.loads(output)["functions"][0]["modules"][0]["arguments"] == ["f32[4]", "s32[]"]


def test_a_stage_missing_from_a_dump_is_reported(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("show", str(dump), "--stage", "jaxpr") == (2, "")
    assert capsys.readouterr().err == "xla-inspect: jit_step has no jaxpr: a dump begins below JAX\n"


@pytest.mark.parametrize("words", [["--xla", "a=1"], ["--args", "f32[3]"], ["--donate", "0"], ["--grad"]])
def test_an_option_that_needs_another_compilation_is_rejected(
    dump: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("memory", str(dump), *words)[0] == 2
    assert "is a dump, which --" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other links, pipes and file names")
@pytest.mark.parametrize("case", DUMPS)
def test_an_unreadable_dump_is_reported(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, subject, expected = DUMPS[case]
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    before = {*tmp_path.rglob("*")}
    status, out = ask("summary", subject)
    error_text = capsys.readouterr().err
    assert (status, out) == (2, ""), error_text
    assert error_text.removeprefix("loading d.tar.gz ...\n").startswith("xla-inspect: "), error_text
    assert expected in error_text
    assert "Traceback" not in error_text
    assert "\x1b" not in error_text
    assert len(error_text.splitlines()) <= 6, error_text
    after = {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}  # what Python itself writes
    assert after == before


def test_names_with_markup_are_text_on_a_page(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    write_module(tmp_path / "d", name="f", text=MODULE.format(name.replace(" ", "_")))
    assert ask("read", str(tmp_path / "d"), "--html", str(tmp_path / "table.html"))[0] == 0
    page = (tmp_path / "table.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert "&lt;img_src=x_onerror=alert(1)&gt;" in page


MEMORY = """
import sys
from xla_inspect.commands import main
status = main(["read", sys.argv[1]])
print(status, open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is counted in other units")
def test_the_table_of_a_dump_of_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    """The files have holes, which take no room on the disk; their sizes and beginnings are those of a large dump."""
    for number in range(40):
        write_module(tmp_path / "d", number)
        for step in range(50):
            path = tmp_path / "d" / f"module_{number:04}.f.{step:04}.fusion.after_pass{step}.before_next.txt"
            path.write_text(MODULE.format("f"), encoding="utf-8")
            os.truncate(path, 1 << 20)
    result = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "d")], capture_output=True, text=True, check=True, timeout=60
    )
    *lines, last = result.stdout.splitlines()
    assert lines[0] == "d contains 40 modules with 2 GiB."
    status, kilobytes = map(int, last.split())
    assert (status, kilobytes < 150_000) == (0, True), kilobytes
