"""Tables and checks of the page about your own code."""

from __future__ import annotations

import importlib
import inspect
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

import xla_inspect
from chapters import console
from inside_xla.publication import format_install_command
from programs import layernorm, softmax
from scale import llama
from xla_inspect import capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.commands import BAD_INPUT, build_parser, list_questions
from xla_inspect.errors import InspectError
from xla_inspect.play import list_examples
from xla_inspect.questions import QUESTIONS
from xla_inspect.report import format_bytes, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYERS = "import jax.numpy as jnp\n\ndef dense(w, x):\n    return jnp.tanh(x @ w)\n"
MODEL = "import small_layers\n\ndef step(w, x):\n    y = small_layers.dense(w, x)\n    return y.sort()\n"


START = inspect.getsource(layernorm).partition("\n\nif __name__")[0].partition('"""\n\n')[2]
"""The file `model.py` that the first commands of the page read."""


def list_commands(target: str, *extras: str) -> list[str]:
    """Return the commands that install the tool with these extras, summarize `model.py`, and write its report."""
    subject = "model.py:layernorm" if extras else f"model.py:layernorm --target {target}"
    report = f"xla-inspect report model.py:layernorm --target {target}"
    return [format_install_command(*extras), f"xla-inspect {subject}", report]


def count_billions(name: str) -> int:
    """Return the number of parameters of a `llama` program, in billions."""
    state, _ = llama.PROGRAMS[name].example
    sizes: list[int] = [math.prod(leaf.shape) for leaf in jax.tree.leaves(state["params"])]
    return round(sum(sizes) / 1e9)


def check_softmaxes() -> None:
    """Assert that two ways to compute a softmax have different numbers of kernels, for both shapes, on each target."""
    example = list_examples()[0]
    assert example["name"] == "softmax_rows"
    names: dict[str, Any] = {}
    exec(compile(example["code"], "softmax_rows.py", "exec"), names)  # noqa: S102 - the tool's own code
    for shape in (softmax.EXAMPLE, names["EXAMPLE"]):
        first, second = capture_all(names["softmax"], *shape), capture_all(softmax.softmax, *shape)
        for target in first:
            assert len(list_kernels(first[target])) != len(list_kernels(second[target])), target


def check_lines_of() -> None:
    """Assert the lines of an answer with and without `--lines-of`, the commands that accept it, and its error."""
    with tempfile.TemporaryDirectory() as place:
        # A module in a folder of this name counts as a library, whose lines are left out by default.
        folder = Path(place, "site-packages")
        folder.mkdir()
        (folder / "small_layers.py").write_text(LAYERS, encoding="utf-8")
        Path(place, "small_model.py").write_text(MODEL, encoding="utf-8")
        sys.path[:0] = [str(folder), place]
        step = importlib.import_module("small_model").step
        shapes = [jax.ShapeDtypeStruct((64, 64), "float32")] * 2
        answers = [xla_inspect.kernels(step, *shapes, lines_of=package) for package in ("", "small_layers")]
        try:
            xla_inspect.kernels(step, *shapes, lines_of="flaxx")
            refused = ""
        except InspectError as error:
            refused = str(error)
        sys.path.remove(str(folder))
        sys.path.remove(place)
        for name in ("small_model", "small_layers"):  # their files are removed, so the next run must import them again
            del sys.modules[name]
    own, library = ({(row.where, row.text) for row in answer.launches} for answer in answers)
    assert own == {("small_model.py:4", "y = small_layers.dense(w, x)"), ("small_model.py:5", "return y.sort()")}
    assert library == {("small_layers.py:4", "return jnp.tanh(x @ w)"), ("small_model.py:5", "return y.sort()")}
    takers = {name for name in list_questions() if "--lines-of" in build_parser(name)[1].format_help()}
    assert takers == {*QUESTIONS, "diff", "since", "show", "report"}
    console.read_output("xla-inspect recompiles --lines-of flax run snippets/training/train.py", expected=BAD_INPUT)
    assert refused == "--lines-of: there is no package 'flaxx' here; the program has lines of small_layers.py"


def check_scopes() -> None:
    """Assert that answers group operations without a user's line by scope, and also collectives from one line."""

    def two_layers(x: jax.Array) -> jax.Array:
        for name in ("first", "second"):
            with jax.named_scope(name):
                x = jax.numpy.sort(jax.numpy.tanh(x @ x))
        return x

    square = jax.ShapeDtypeStruct((64, 64), "float32")
    # Without sources, no operation has a line of the user.
    unplaced = capture_all(two_layers, square, targets=["cpu"])["cpu"].retold(sources={})
    kernels, memory = xla_inspect.kernels(unplaced), xla_inspect.memory(unplaced)
    spread = xla_inspect.collectives(two_layers, square, mesh={"data": 8}, specs=(jax.P("data"),))
    for scopes in (kernels.scopes, memory.scopes, spread.scopes):
        assert {scope.text for scope in scopes} >= {"first", "second"}
    assert all("first" in str(answer) for answer in (kernels, memory, xla_inspect.summary(unplaced)))


def show_scale(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return an HTML table of the recorded cost of compiling and inspecting large training steps, next to JAX's."""
    cells = []
    for row in rows.values():
        costs = row["costs"]
        bare, tool = costs["bare"], costs["summary"] if "summary" in costs else costs["memory"]
        cells.append(
            (
                row["title"],
                row["target"],
                f"{tool['processor']:.0f} s",
                f"{tool['processor'] / bare['processor']:.2f}",
                format_bytes(int(tool["peak"])),
                f"{tool['peak'] / bare['peak']:.2f}",
                f"{tool['answering']:.1f} s",
            )
        )
    ratio = "relative to JAX alone"
    header = ["program", "target", "processor time", ratio, "memory of the tool", ratio, "answer after the compile"]
    return markdown.cards(header, cells)


def pair_steps(
    rows: Mapping[str, Mapping[str, Any]], steps: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the recorded answer and the measurement for each training step on the H100, by the step's title."""
    return {
        row["title"]: (row["counted"], steps[row["program"]])
        for row in rows.values()
        if row["target"] == "h100" and row["program"] in steps
    }


def show_steps(pairs: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return a table of kernels and peak memory, without a GPU and on an H100, and of the time of a step."""
    header = ["program", "kernels here", "kernels on the GPU", "peak here", "peak on the GPU", "time of a step"]
    cells = [
        (
            title,
            f"{answered['kernels']:,}",
            f"{measured['kernels']:,}",
            markdown.size(answered["peak_bytes"]),
            markdown.size(measured["peak_bytes"]),
            f"{measured['ms']:.3g} ms",
        )
        for title, (answered, measured) in pairs.items()
    ]
    return markdown.table(header, cells, numbers=[1, 2, 3, 4, 5])


def find_peak_errors(pairs: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[float]:
    """Return the relative errors of the answered peaks, compared with the peaks on the GPU, in ascending order."""
    return sorted(abs(answered["peak_bytes"] / measured["peak_bytes"] - 1) for answered, measured in pairs.values())
