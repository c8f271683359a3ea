"""Answers name the lines of a package that the user selects, as JAX records them."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

import xla_inspect
from xla_inspect import capture, jax_private
from xla_inspect.analysis import find_frame, use_lines_of
from xla_inspect.captured import Capture
from xla_inspect.commands import BAD_INPUT, build_parser, list_questions, run_here
from xla_inspect.errors import InspectError
from xla_inspect.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DENSE = """\
import jax, jax.numpy as jnp

def dense(w, x):
    y = x @ w
    return jnp.tanh(y)

def stack(function, ws, x):
    for number, w in enumerate(ws):
        with jax.named_scope(f"layer_{number}"):
            x = function(w,
                         x)
    return x
"""
UPDATE = """\
import jax

def descend(ws, gradients):
    return jax.tree.map(lambda w, g: w - 0.1 * g, ws, gradients)
"""
NET = """\
import jax, jax.numpy as jnp
from deep.nn.dense import dense, stack
from deep.update import descend

def block(w, x):
    x = jnp.sin(x)
    return dense(w, x)

def step(ws, x):
    def loss(ws):
        return (stack(block, ws, x) ** 2).sum()
    return descend(ws, jax.grad(loss)(ws))

def make():
    return [jnp.ones((64, 64))] * 2, jnp.ones((16, 64))
"""
ARGS: tuple[Any, ...] = ([jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 2, jax.ShapeDtypeStruct((16, 64), jnp.float32))


@pytest.fixture(params=["site-packages", "elsewhere"])
def net(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program that calls a package, either installed or imported from source."""
    package = tmp_path / request.param / "deep"
    (package / "nn").mkdir(parents=True)
    for name, text in {"__init__.py": "", "nn/__init__.py": "", "nn/dense.py": DENSE, "update.py": UPDATE}.items():
        (package / name).write_text(text)
    file = tmp_path / "project" / "net.py"
    file.parent.mkdir()
    file.write_text(NET)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.syspath_prepend(file.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    importlib.invalidate_caches()
    yield file
    for name in [name for name in sys.modules if name.partition(".")[0] in {"deep", "net"}]:
        del sys.modules[name]


def _load() -> Any:  # noqa: ANN401 - a module of the test's own
    return importlib.import_module("net")


def _list_recorded(jaxpr: Any, package: str) -> set[tuple[str, int]]:  # noqa: ANN401 - of JAX's private class
    """Return the innermost line of each equation in a package, or else in the program's file."""
    places = set()
    for equation in jaxpr.eqns:
        frames = [(file, line) for file, _, line in jax_private.walk_frames(equation)]
        inside = [frame for frame in frames if f"/{package}/" in frame[0]]
        own = [frame for frame in frames if frame[0].endswith("/net.py")]
        places |= {(file.rpartition("/")[2], line) for file, line in (inside or own)[:1]}
        for inner in jax.tree.leaves([*equation.params.values()]):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                places |= _list_recorded(getattr(inner, "jaxpr", inner), package)
    return places


@pytest.mark.parametrize("package", ["deep", "deep.nn", "deep.update"])
def test_each_line_is_the_innermost_one_in_the_package_that_jax_records(net: Path, package: str) -> None:
    assert net.is_file()
    step = _load().step
    (use_line,) = use_lines_of(package, capture(step, *ARGS, passes=False))
    path = "update.py" if package.endswith("update") else package.replace(".", "/")
    recorded = _list_recorded(jax.make_jaxpr(step)(*ARGS).jaxpr, path)
    if package.endswith("update"):
        recorded = {("update.py", 4), ("net.py", 6), ("net.py", 7), ("net.py", 11)}
    frames = {find_frame(use_line, instruction) for instruction in use_line.unoptimized_module.walk()} - {None}
    places = {(frame.file.rpartition("/")[2], frame.line) for frame in frames if frame}
    assert places
    assert places <= recorded
    assert {"dense.py", "update.py"} & {file for file, _ in places}


def test_an_operation_outside_the_package_keeps_its_line_and_one_that_the_package_calls_has_the_packages(
    net: Path,
) -> None:
    assert net.is_file()
    program = capture(_load().step, *ARGS, passes=False)
    kernels_by_package = {
        package: xla_inspect.kernels(program, lines_of=package) for package in ("", "deep.nn", "deep.update")
    }
    files = {
        package: {row.where.partition(":")[0] for row in answer.launches}
        for package, answer in kernels_by_package.items()
    }
    assert files[""] <= {"net.py", ""}
    assert "dense.py" in files["deep.nn"]
    assert "update.py" in files["deep.update"]
    assert "net.py" in files["deep.update"]
    # `sin` is computed by the reader's function, which the package calls over two lines.
    sines = [part for row in kernels_by_package["deep.nn"].launches for part in row.fused if "sine" in part.opcodes]
    assert {(part.where, part.text) for part in sines} <= {("dense.py:10", "x = function(w,")}
    assert sines


def test_the_text_of_another_version_is_not_shown(net: Path) -> None:
    restored = Capture.from_json(capture(_load().step, *ARGS, passes=False).to_json())
    rows = {row.where: row.text for row in xla_inspect.kernels(restored, lines_of="deep.nn").launches}
    assert rows["dense.py:4"] == "y = x @ w"
    (file,) = net.parents[1].glob("*/deep/nn/dense.py")
    file.write_text("# another\n\n" + DENSE)
    if file.parents[2].name == "site-packages":
        moved = {row.where: row.text for row in xla_inspect.kernels(restored, lines_of="deep.nn").launches}
        assert {
            **dict.fromkeys(rows, ""),
            **{place: text for place, text in rows.items() if "net.py" in place},
        } == moved
    else:
        with pytest.raises(InspectError, match=r"step has no line of deep\.nn"):
            xla_inspect.kernels(restored, lines_of="deep.nn")


@pytest.mark.parametrize("question", ["summary", "memory", "kernels", "why", "passes"])
def test_each_question_accepts_a_package_and_repeats_it_in_suggested_commands(
    net: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [question, f"{net}:step", "--args-from", f"{net}:make", "--target", "cpu", "--lines-of", "deep.nn"]
    assert run_here(words) == 0
    output = capsys.readouterr().out
    assert "dense.py:" in output or question == "passes"
    assert "--lines-of deep.nn" in output
    assert run_here([*words, "--json"]) == 0
    assert ("dense.py:4" in json.dumps(json.loads(capsys.readouterr().out))) == (question != "passes")


def test_collectives_have_the_lines_of_the_package(net: Path) -> None:
    assert net.is_file()
    layout = ([jax.P("data"), jax.P("data")], jax.P("data"))
    collectives = xla_inspect.collectives(_load().step, *ARGS, mesh={"data": 8}, specs=layout, lines_of="deep.nn")
    places = {place.file.rpartition("/")[2] for exchange in collectives.exchanges for place in exchange.places}
    assert "dense.py" in places


def test_two_programs_are_compared_by_lines_of_the_package(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"{net}:step", "--args-from", f"{net}:make", "--target", "cpu", "--lines-of", "deep"]
    assert run_here(["diff", *options, "--with=--donate=0", "--json"]) in {0, 1}
    lines = {change["file"] for change in json.loads(capsys.readouterr().out)["memory"]}
    assert {file.rpartition("/")[2] for file in lines} & {"dense.py", "update.py"}


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("deeep", "there is no package 'deeep' here"),
        ("pytest", "step has no line of pytest"),
        ("deep.data", "step has no line of deep.data"),
        ("jax.numpy", "step has no line of jax.numpy, whose frames JAX leaves out"),
        (".", "there is no package '.' here"),
    ],
)
def test_a_package_without_lines_is_rejected_with_the_available_ones(
    net: Path, package: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["memory", f"{net}:step", "--args-from", f"{net}:make", "--target", "cpu", "--lines-of", package]
    assert run_here(words) == BAD_INPUT
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("xla-inspect: ")]
    assert line.startswith(f"xla-inspect: --lines-of: {reason}")
    listed = "deep.nn, deep.update" if package == "deep.data" else "deep"
    is_installed = (net.parents[1] / "site-packages").is_dir()
    assert line.endswith(f"; the program has lines of {listed if is_installed else 'dense.py, update.py'}")
    assert ("did you mean 'deep'?" in line) == (is_installed and package == "deeep")


def test_each_question_and_comparison_accepts_a_package() -> None:
    helps = {name: build_parser(name)[1].format_help() for name in list_questions()}
    takers = {name for name, text in helps.items() if "--lines-of" in text}
    assert takers == {*QUESTIONS, "diff", "since", "show", "report"}


def test_a_whole_script_accepts_no_package(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["recompiles", "--lines-of", "deep", "run", str(net)]) == BAD_INPUT
    assert "remove --lines-of" in capsys.readouterr().err


def test_a_capture_is_saved_with_all_its_frames(net: Path, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    words = ["show", f"{net}:step", "--args-from", f"{net}:make", "--stage", "capture", "-o", str(file)]
    assert run_here([*words, "--lines-of", "deep.nn"]) == 0
    saved = Capture.from_json(file.read_text())
    assert "block" in {chain[0].function for chain in saved.frames.values()}
    (use_line,) = use_lines_of("deep.nn", saved)
    assert any(name.endswith("dense.py") for name in use_line.sources)
    assert use_line.own == saved


def _layers(x: jax.Array) -> jax.Array:
    for number in range(2):
        with jax.named_scope(f"layer_{number}"):
            x = jnp.sort(jnp.tanh(x @ x.T) @ x)
    return x


def test_scopes_are_shown_if_no_line_of_the_user_is_known() -> None:
    relabeled = capture(_layers, jax.ShapeDtypeStruct((64, 64), jnp.float32), passes=False).retold(sources={})
    memory, kernels, summary = (
        xla_inspect.memory(relabeled),
        xla_inspect.kernels(relabeled),
        xla_inspect.summary(relabeled),
    )
    for answer in (memory, kernels):
        assert {scope.where for scope in answer.scopes} == {""}
        assert {"layer_0", "layer_1"} <= {scope.text for scope in answer.scopes}
        assert re.search(r"By scope for \w+ without a line", str(answer))
    total = sum(row.bytes for row in memory.rows if row.role not in {"argument", "gap"})
    assert sum(scope.amount for scope in memory.scopes) == total
    assert summary.targets[0].scopes["memory"] == memory.scopes
    assert "The largest kernels, by scope" in str(summary)
    assert xla_inspect.memory(relabeled, by="scope").scopes == ()


def test_collectives_are_shown_by_scope_if_one_line_dominates() -> None:
    shapes = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 2

    def step(x: jax.Array, w: jax.Array) -> jax.Array:
        def layer(name: str, x: jax.Array) -> jax.Array:
            with jax.named_scope(name):
                return jax.lax.with_sharding_constraint(jnp.tanh(x @ w), jax.P())

        return layer("second", layer("first", x) * 2)

    collectives = xla_inspect.collectives(step, *shapes, mesh={"data": 8}, specs=(jax.P(None, "data"), jax.P("data")))
    assert sum(scope.amount for scope in collectives.scopes) <= sum(
        exchange.total_bytes for exchange in collectives.exchanges
    )
    assert ("By scope in test_lines_of.py" in str(collectives)) == bool(collectives.scopes)
    assert {scope.text for scope in collectives.scopes} == {"first", "second"}
