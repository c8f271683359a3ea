"""The file that shows with JAX alone how a pass changes a value."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import Capture, capture
from xla_inspect.commands import main
from xla_inspect.evaluation import Evaluator
from xla_inspect.hlo import parse_module
from xla_inspect.questions.numbers.array_difference import compare_results
from xla_inspect.questions.numbers.module_pair import ModulePair
from xla_inspect.questions.numbers.module_part import inline_calls
from xla_inspect.questions.numbers.module_runner import ModuleRunner
from xla_inspect.questions.numbers.options import compare_numbers
from xla_inspect.questions.numbers.reproducer import list_inputs
from xla_inspect.subject import Subject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("all_targets")

ALONE = "import runpy, sys; sys.modules['xla_inspect'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
FUSED = """HloModule fused

%step (a: f32[3]) -> f32[3] {{
  %a = f32[3] parameter(0)
  %b = f32[3] negate(%a)
  ROOT %c = f32[3] {operation}(%b, %b)
}}

%both (p: f32[3]) -> (f32[3], f32[3]) {{
  %p = f32[3] parameter(0)
  %q = f32[3] fusion(%p), kind=kLoop, calls=%step
  %r = f32[3] fusion(%q), kind=kLoop, calls=%step
  ROOT %s = (f32[3], f32[3]) tuple(%q, %r)
}}

ENTRY %main (x: f32[3]) -> f32[3] {{
  %x = f32[3] parameter(0)
  %y = f32[3] exponential(%x)
  %z = (f32[3], f32[3]) fusion(%y), kind=kLoop, calls=%both
  %first = f32[3] get-tuple-element(%z), index=0
  %second = f32[3] get-tuple-element(%z), index=1
  ROOT %sum = f32[3] add(%first, %second)
}}
"""
PROGRAM = """import jax

def twice(x):
    return x * 2
"""


def lost_rounding(x: jax.Array) -> jax.Array:
    return jnp.sin(x - x.astype(jnp.bfloat16).astype(jnp.float32)) * 2 + 1


def ask(program: Capture, path: Path) -> str:
    """Write the reproducer of a capture, and return the sentence about it."""
    answer = compare_numbers(Subject(program.program, saved={program.target: program}), program.target, reproducer=path)
    return answer.notes[-1]


@pytest.mark.parametrize("size", [8, 1024])
def test_a_reproducer_shows_the_smallest_part_that_differs_in_a_process_without_this_package(
    size: int, tmp_path: Path
) -> None:
    program = capture(lost_rounding, jax.ShapeDtypeStruct((size,), jnp.float32), target="h100")
    path = tmp_path / "lost rounding.py"
    sentence = ask(replace(program, program='lost "rounding"\n"""\\'), path)
    assert sentence == f"{path} shows with JAX alone how the pass changes sub.1; to run it: python '{path}'"
    text = path.read_text()
    modules = re.findall(r'(?:BEFORE|AFTER) = """\\\n(.*?)"""', text, re.DOTALL)
    operations = [re.findall(r" (\w+)\(", module) for module in modules]
    assert operations == [["parameter", "convert", "convert", "subtract"], ["parameter", "subtract"]]
    assert str(tmp_path) not in text
    assert "xla_inspect" not in text
    assert path.with_suffix(".npz").exists() == (size > 256)
    command = [sys.executable, "-I", "-c", ALONE, str(path)]
    output = subprocess.run(command, cwd="/", check=True, capture_output=True, text=True).stdout
    [expected] = re.findall(r"difference: (\d+) elements, by at most (\S+)", output)
    [actual] = re.findall(rf"(\d+) of {size} elements have other bits; .* difference is (\S+)", output)
    assert (int(actual[0]), float(actual[1])) == (int(expected[0]), float(expected[1]))
    assert 0.9 * size < int(actual[0]) <= size


def test_only_the_instruction_that_differs_is_cut_out_of_nested_fusions() -> None:
    before, after = (parse_module(FUSED.format(operation=operation)) for operation in ("add", "subtract"))
    numbers = np.float32([1, 2, 3])
    with Evaluator() as evaluator:
        runner = ModuleRunner(evaluator, "h100", [numbers], 1)
        inlined = inline_calls(before, {"call", "fusion"}, ".copy")
        assert compare_results(runner.run(before), runner.run(inlined)) is None
        opcodes = [instruction.opcode for instruction in inlined.entry if "tuple" not in instruction.opcode]
        assert opcodes == ["parameter", "exponential", "negate", "add", "negate", "add", "add"]
        pair = ModulePair(before, after, runner)
        # An operation with another opcode is another value, so the first value after it is the smallest that differs.
        names, difference = pair.find_smallest("")
    parts = [[instruction.opcode for instruction in part.entry] for part, _ in pair.cut(names)]
    assert parts == [["parameter", "add", "negate"], ["parameter", "subtract", "negate"]]
    assert (difference.elements, difference.relative) == (3, 1)


def test_without_a_pass_that_changes_bits_the_answer_says_why_there_is_no_reproducer(tmp_path: Path) -> None:
    program = capture(lambda x: x * 2, jax.ShapeDtypeStruct((8,), jnp.float32), target="h100")
    path = tmp_path / "none.py"
    assert ask(program, path) == "There is no reproducer, because no pass changes a bit of the results."
    text = re.sub(r"ROOT (%\S+ = )(\S+)", r"\1\2", program.after).replace("\n}\n", "\n  ROOT %all = () tuple()\n}\n")
    fewer = replace(program, passes=(*program.passes[:-1], replace(program.passes[-1], text=text)), after=text)
    assert "no pass changes a bit" in ask(fewer, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--reproducer", "twice.py"], "twice.py already exists; pass another file, or --force"),
        (["--reproducer", "used.py"], "used.npz already exists"),
        (["--reproducer", "folder.py", "--force"], "cannot write folder.py: it is a folder; pass a file"),
        (["--reproducer", "twice.py", "--force"], "twice.py would overwrite a file that the question reads"),
        (["--reproducer", "used.py", "--force", "--inputs", "used.npz"], "used.py would overwrite a file that"),
        (["--reproducer", "no/folder.py"], "there is no folder no"),
        (["--reproducer", "text.npz"], "pass a name that ends with .py"),
        (["--reproducer", "new.py", "--target", "cpu", "--target", "h100"], "pass one --target"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_compilation(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.py").write_text(PROGRAM)
    (tmp_path / "used.npz").write_text("")
    (tmp_path / "folder.py").mkdir()
    assert main(["numbers", "twice.py:twice", "--args", "f32[8]", *words]) == 2
    output = capsys.readouterr()
    assert message in " ".join(output.err.split())
    assert output.out == ""


@pytest.mark.parametrize("kind", ["float8_e5m2", "bfloat16", "int4", "float32"])
def test_large_inputs_of_each_type_are_read_again_from_the_file_next_to_the_reproducer(
    kind: str, tmp_path: Path
) -> None:
    array = np.random.default_rng(0).integers(0, 7, 2000).astype(kind)
    path = tmp_path / "reproducer.py"
    text = "\n".join(list_inputs({"x": [array]}, path))
    names: dict[str, Any] = {"np": np, "os": os, "__file__": str(path)}
    exec(text, names)  # noqa: S102 - the tool wrote it
    [actual] = names["INPUTS"]["x"]
    assert actual.dtype == array.dtype
    assert actual.tobytes() == array.tobytes()
