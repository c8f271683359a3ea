"""The second capstone: faults are found in the dump, proved by its lines, and mended."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planting import BY_KEY, plant

from xla_inspect import capture
from xla_inspect.practice.marking.faults import FAULTS
from xla_inspect.practice.marking.marker import mark
from xla_inspect.practice.marking.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from xla_inspect.practice.marking.verdict import ExerciseVerdict

KEY = "capstone/diagnose"
SOLVED = BY_KEY[KEY].solution_text
STEP = "from functools import partial\nimport jax.numpy as jnp\n" + SOLVED[SOLVED.index("@partial") :]
PROOFS = {"constant": "constant.11", "copy": "copy.1", "one_hot": "compare_convert_fusion", "sort": "sort.0"}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One process for all answers."""
    with Sandbox(limit=120) as sandbox:
        yield sandbox


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


def call_back(x: jax.Array) -> jax.Array:
    return jax.pure_callback(lambda x: x, shape(256, 256), x) + 1


def write(x: jax.Array) -> jax.Array:
    return jax.lax.dynamic_update_slice(x, jnp.zeros((1, 256)), (3, 0))


def pick(x: jax.Array) -> jax.Array:
    return jax.nn.one_hot(jnp.int32(x[0, :8]), 256) @ x


def loop(x: jax.Array) -> jax.Array:
    return jax.lax.map(lambda row: jnp.tanh(x @ row), x)


def order(x: jax.Array) -> jax.Array:
    return jnp.sort(x, axis=-1)[:, -1]


def turn(x: jax.Array) -> jax.Array:
    return x.T @ jnp.tanh(x)


def repeat(x: jax.Array) -> jax.Array:
    for _ in range(6):
        x = jnp.tanh(x @ x)
    return x


def hold(x: jax.Array) -> jax.Array:
    return x + np.arange(65536, dtype=np.float32).reshape(256, 256)


PROGRAMS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "callback": call_back,
    "constant": hold,
    "copy": write,
    "one_hot": pick,
    "rows": loop,
    "sort": order,
    "transpose": turn,
    "unrolled": repeat,
}


def test_each_fault_is_found_in_a_program_that_has_it_and_only_there() -> None:
    assert list(PROGRAMS) == list(FAULTS)
    found = {name: capture(program, shape(256, 256), passes=False) for name, program in PROGRAMS.items()}
    shown = {name: [fault for fault, find in FAULTS.items() if find(one)] for name, one in found.items()}
    assert shown == {name: [name] for name in PROGRAMS}


def test_the_slow_model_has_some_of_the_eight_and_not_the_others() -> None:
    patient = importlib.import_module("practice.capstone.patient")
    before = capture(patient.step, *patient.EXAMPLE, passes=False)
    assert {fault for fault, find in FAULTS.items() if find(before)} == set(PROOFS)
    for fault, name in PROOFS.items():
        assert name in {each.name for each in FAULTS[fault](before)}


def test_neither_the_file_nor_the_model_says_which_faults_it_has() -> None:
    task = BY_KEY[KEY].task
    assert [f"* `{fault}`: " in task for fault in FAULTS] == [True] * len(FAULTS)
    model = BY_KEY[KEY].file.with_name("patient.py").read_text(encoding="utf-8").partition("import jax")[0]
    assert not any(fault in model for fault in FAULTS)


def try_out(sandbox: Sandbox, folder: Path, faults: object, step: str = STEP) -> tuple[ExerciseVerdict, str]:
    verdict = mark(plant(KEY, folder, f"FAULTS = {faults!r}\n{step}"), sandbox)
    return verdict, " / ".join(remark.text for remark in verdict.remarks if not remark.good)


@pytest.mark.parametrize(
    "copied",
    ["%copy.1 = f32[2048,128]{1,0} copy(%memory.1)", "  %copy.1  =  f32[2048,128]{1,0} copy(%memory.1), metadata={}"],
)
def test_whole_lines_and_names_prove_a_fault(copied: str, sandbox: Sandbox, tmp_path: Path) -> None:
    verdict, said = try_out(sandbox, tmp_path, PROOFS | {"copy": copied})
    assert (verdict.verdict, said) == ("right", "")
    assert [remark.text for remark in verdict.remarks if remark.text.endswith(": mended")] == [
        f"{fault}: mended" for fault in PROOFS
    ]
    assert any("bytes read and written" in line for line in verdict.remarks[-1].lines)


LESS = {fault: line for fault, line in PROOFS.items() if fault != "sort"}


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (LESS, "the dump shows 4 faults, and 3 of them are proved"),
        ({}, "the dump shows 4 faults, and 0 of them are proved"),
        (PROOFS | {"sort": "copy.1"}, "sort: this line of the dump does not show it"),
        (PROOFS | {"transpose": "copy.1"}, "transpose: this line of the dump does not show it"),
        (PROOFS | {"sort": "sort.99"}, "sort: no instruction of the dump is called `sort.99`"),
        (PROOFS | {"sort": "%sort.0 = f32[8]{0} sort(%x)"}, "is in the dump, but its line reads otherwise"),
        (PROOFS | {"sort": 3}, "3 is no line of the dump"),
        (PROOFS | {"sort": ""}, "'' is no line of the dump"),
        (PROOFS | {"onehot": "copy.1"}, "no fault is called 'onehot'; did you mean one_hot?"),
        (PROOFS | {7: "copy.1"}, "no fault is called 7; the eight are callback, constant"),
        (["sort"], "a dict is asked for"),
        (dict.fromkeys(FAULTS, "copy.1"), "this line of the dump does not show it"),
    ],
)
def test_what_is_not_proved_is_told_without_giving_the_others_away(
    faults: object, expected: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    verdict, said = try_out(sandbox, tmp_path, faults)
    assert (verdict.verdict, expected in said) == ("wrong", True), said
    if faults == LESS:
        assert "sort" not in said


@pytest.mark.parametrize(
    ("changed", "into", "expected"),
    [
        ('@partial(jax.jit, donate_argnames="memory")', "@jax.jit", "copy, "),
        ("jax.lax.dynamic_slice(positions,", "jax.lax.dynamic_slice(jnp.asarray(patient.POSITIONS),", "constant, "),
        ('jnp.take(weights["table"], ids, axis=0)', 'jax.nn.one_hot(ids, 512) @ weights["table"]', "one_hot, "),
        ('jnp.tanh(tokens @ weights["mix"])', 'jnp.tanh(weights["mix"].T @ tokens.T).T', "transpose, "),
        ("jnp.tanh(tokens", "jnp.sin(tokens", "the numbers are wrong"),
        ("return shares, ", "return ", "it returns "),
    ],
)
def test_what_is_not_mended_or_is_worse_is_told(
    changed: str, into: str, expected: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    assert changed in STEP
    verdict, said = try_out(sandbox, tmp_path, PROOFS, STEP.replace(changed, into))
    assert (verdict.verdict, expected in said) == ("wrong", True), said
