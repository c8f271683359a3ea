"""Puzzles are marked by score: slow, wrong and hidden code fails, and the best known score is compiled."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import pytest
from planting import BY_KEY, plant
from wrong_puzzles import WRONG_PUZZLES

from xla_inspect import TARGETS, targets
from xla_inspect.practice.marking import check_puzzles
from xla_inspect.practice.marking.exercises import find_exercises
from xla_inspect.practice.marking.marker import mark
from xla_inspect.practice.marking.puzzles import PUZZLES, compile_puzzle
from xla_inspect.practice.marking.submission import Submission
from xla_inspect.targets import title

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from xla_inspect.practice.marking.sandbox import Sandbox

NAMES = [each.name for each in find_exercises("puzzles")]


def solution_of(name: str) -> ModuleType:
    return importlib.import_module(f"practice.solutions.puzzles.{name}")


def test_every_puzzle_is_scored_and_has_a_file() -> None:
    assert list(PUZZLES) == NAMES
    assert {BY_KEY[f"puzzles/{name}"].level for name in NAMES} == {4}


@pytest.mark.parametrize("name", NAMES)
def test_a_puzzle_names_its_target_and_existing_functions(name: str) -> None:
    module = importlib.import_module(f"practice.puzzles.{name}")
    task, target = module.__doc__ or "", PUZZLES[name].target.partition(":")[0]
    scored = task.partition("The score is")[2].partition("else")[0]
    assert title(target).rpartition("NVIDIA ")[2] in scored
    assert set(re.findall(r"`([a-z]\w*)\(", task)) <= vars(module).keys()


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", NAMES)
def test_the_best_known_is_better_than_the_start_and_no_better_than_the_bound(name: str) -> None:
    puzzle, module = PUZZLES[name], solution_of(name)
    start, best = (compile_puzzle(module, form, puzzle.target) for form in ("start", "better"))
    score = puzzle.measure.take(best)
    assert score < puzzle.measure.take(start)
    if puzzle.bound:
        assert puzzle.bound.score(start) <= score
    assert [limit.words for limit in puzzle.limits if limit.take(best) > limit.most(start)] == []


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", [name for name in NAMES if PUZZLES[name].target != "cpu"])
def test_a_puzzle_for_an_accelerator_is_one_for_the_cpu_too(name: str) -> None:
    puzzle, module = PUZZLES[name], solution_of(name)
    scores = [puzzle.measure.take(compile_puzzle(module, form, puzzle.instead)) for form in ("start", "better")]
    assert puzzle.target.partition(":")[0] in TARGETS[1:]
    if name == "softmax":
        # Two reductions and two results: the CPU gains nothing, and says so.
        assert scores[1] <= scores[0]
    else:
        assert scores[1] < scores[0]


START = "\nbetter = start\n"

WRONG = {
    "history, written out": (
        "history",
        (
            "def better(x):\n    states = [jnp.tanh(x[0])]\n    for row in x[1:]:\n"
            "        states.append(jnp.tanh(row + 0.5 * states[-1]))\n    return jnp.stack(states)\n"
        ),
        "kernels in the program, but only 8 are allowed",
    ),
    "attention, row by row": (
        "attention",
        "def better(q, k, v):\n    return jax.lax.map(lambda row: jax.nn.softmax(row @ k.T / 8.0) @ v, q)\n",
        "launches, but only 1,000 are allowed",
    ),
    "attention, large blocks": (
        "attention",
        (
            "def better(q, k, v):\n    blocks = q.reshape(-1, 256, 64)\n"
            "    return jax.lax.map(lambda rows: jax.nn.softmax(rows @ k.T / 8.0) @ v, blocks).reshape(q.shape)\n"
        ),
        "the best known is 270,504",
    ),
    "layer_norm, two sums": (
        "layer_norm",
        (
            "def better(x, scale, shift):\n    x = x - x[:, :1]\n    m = x.mean(-1, keepdims=True)\n"
            "    v = (x * x).mean(-1, keepdims=True) - m * m\n"
            "    return (x - m) / jnp.sqrt(v + 1e-5) * scale + shift\n"
        ),
        "the best known is 6,313,984",
    ),
    "embedding, checked indices": (
        "embedding",
        "def better(table, ids):\n    return table[ids]\n",
        "`start` has 17,039,360; the best known is 0",
    ),
    "cache, not donated": (
        "cache",
        "def better(cache, row, position):\n    return jax.lax.dynamic_update_slice(cache, row[None], (position, 0))\n",
        "the best known is 1,028",
    ),
    "cache, donated and selected": (
        "cache",
        "better = jax.jit(start, donate_argnums=0)\n",
        "the best known is 1,028",
    ),
    "sharded, held whole": (
        "sharded",
        START + "SPECS = (P(), P(), P())\n",
        "bytes of arguments on each device, but only 4,325,376 are allowed",
    ),
    "sharded, no specs": (
        "sharded",
        START + "SPECS = 3\n",
        "`SPECS` is 3, but it must be a tuple of 3 PartitionSpecs",
    ),
    "hoist, in the other order": (
        "hoist",
        (
            "def better(xs, w, v):\n"
            "    return jax.lax.scan(lambda s, r: (jnp.tanh(s + r), None), jnp.zeros(256), xs @ (w @ v))[0]\n"
        ),
        "the best known is 2,105,408",
    ),
    "remat, all of it": (
        "remat",
        "def better(weights, x):\n    return list(jax.grad(jax.checkpoint(loss))(weights, x))\n",
        "the best known is 8,388,608",
    ),
    "a callback": (
        "embedding",
        (
            "import numpy as np\ndef better(table, ids):\n"
            "    return jax.pure_callback(lambda t, i: np.asarray(t)[np.asarray(i)], "
            "jax.ShapeDtypeStruct((32, 64), jnp.float32), table, ids)\n"
        ),
        "a callback does the work in Python",
    ),
    "another shape": (
        "hoist",
        "def better(xs, w, v):\n    return xs\n",
        "it returns f32[32,256] instead of f32[256]",
    ),
    "examples that were changed": (
        "cache",
        "EXAMPLE = (shape(1, 1),) * 3\nbetter = start\n",
        "the best known is 1,028",
    ),
    "a start that was changed": (
        "hoist",
        "def start(xs, w, v):\n    return xs[0] * 0\ndef better(xs, w, v):\n    return xs[0] * 0\n",
        "the numbers are wrong",
    ),
}


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("what", WRONG)
def test_a_slow_or_wrong_answer_fails_with_its_launches(what: str, sandbox: Sandbox, tmp_path: Path) -> None:
    name, answer, message = WRONG[what]
    verdict = mark(plant(f"puzzles/{name}", tmp_path, answer), sandbox)
    bad = [remark for remark in verdict.remarks if not remark.good]
    assert (verdict.verdict, len(bad)) == ("wrong", 1)
    assert message in bad[0].text
    assert bad[0].text.startswith(str(tmp_path))
    if "the best known" in message:
        assert bad[0].lines != ()


def test_every_puzzle_has_three_wrong_solutions() -> None:
    assert {name: len(answers) for name, answers in WRONG_PUZZLES.items()} == dict.fromkeys(NAMES, 3)


@pytest.mark.long("otherwise one puzzle stands for all", but=["softmax"])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_solution_fails_and_the_message_names_the_input(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    for at, (what, answer) in enumerate(WRONG_PUZZLES[name].items()):
        planted = plant(f"puzzles/{name}", tmp_path / str(at), answer)
        remarks = [remark.text for remark in mark(planted, sandbox).remarks if not remark.good]
        number = r"py:\d+, for (\w+ )*(numbers|large|zeros|row|near -?\d+): the numbers are wrong in [\d,]+ places? of"
        assert [bool(re.search(number, text)) for text in remarks] == [True], (what, remarks)


RIGHT = {
    "embedding": "def better(table, ids):\n    return table.at[ids].get(mode='clip', wrap_negative_indices=False)\n",
    "narrow": (
        "@jax.jit\ndef better(x, w, v):\n    h = jax.nn.gelu(x.astype('bfloat16') @ w.astype('bfloat16'))\n"
        "    return jax.lax.dot(h, v.astype('bfloat16'), preferred_element_type='float32')\n"
    ),
    "hoist": (
        "def better(xs, w, v):\n    rows = jax.vmap(lambda row: (row @ w) @ v)(xs)\n"
        "    return jax.lax.fori_loop(0, 32, lambda at, state: jnp.tanh(state + rows[at]), jnp.zeros(256))\n"
    ),
}


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", RIGHT)
def test_another_program_with_the_same_score_is_right(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    verdict = mark(plant(f"puzzles/{name}", tmp_path, RIGHT[name]), sandbox)
    assert [remark.text for remark in verdict.remarks if not remark.good] == []
    assert verdict.verdict == "right"


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.usefixtures("all_targets")
def test_a_new_best_score_is_reported(sandbox: Sandbox, tmp_path: Path) -> None:
    pieces = """
def better(weights, x):
    gradients = [jax.grad(loss)(weights, rows) for rows in jnp.split(x, 2)]
    gradients[1:] = [jax.lax.optimization_barrier(gradients[1])]
    return jax.tree.map(jnp.add, *gradients)
"""
    loop = """
def better(weights, x):
    def step(total, rows):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(weights, rows)), None
    return jax.lax.scan(step, [jnp.zeros_like(w) for w in weights], x.reshape(2, -1, 64))[0]
"""
    verdicts = [
        mark(plant("puzzles/remat", tmp_path / str(at), body), sandbox) for at, body in enumerate((pieces, loop))
    ]
    for verdict in verdicts:
        for remark in verdict.remarks:
            assert remark.good == ("better than the best" in remark.text or "score" not in remark.text), remark.text


def test_a_puzzle_without_its_compiler_is_scored_on_the_cpu_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = BY_KEY["puzzles/narrow"]
    folder = solved.folder / "solutions"
    find = targets.find_target
    monkeypatch.setattr(targets, "find_target", lambda name: find(name) if name == "cpu" else _Missing())
    submission = Submission(type(solved)(solved.phase, solved.name, folder, solved.folder))
    remarks = [*check_puzzles.check(submission)]
    assert all(remark.good for remark in remarks)
    note = "scored on the CPU, because the NVIDIA H100 compiler is missing on this machine: no plugin"
    assert note in [remark.text for remark in remarks]
    assert ", CPU. " in remarks[-1].text


class _Missing:
    obstacle = "no plugin"
