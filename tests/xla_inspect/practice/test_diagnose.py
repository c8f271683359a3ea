"""The second capstone: faults are found in a dump, proved by its lines, and fixed."""

from __future__ import annotations

import importlib
import platform
from functools import reduce
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planting import BY_KEY, plant

from xla_inspect import capture
from xla_inspect.practice.marking.dump_faults import FAULTS
from xla_inspect.practice.marking.marker import mark

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect import Capture
    from xla_inspect.practice.marking.sandbox import Sandbox
    from xla_inspect.practice.marking.verdict import ExerciseVerdict

    type Trial = Callable[..., tuple[ExerciseVerdict, str]]

KEY = "capstone/diagnose"
SOLVED = BY_KEY[KEY].solution_text
STEP = "from functools import partial\nimport jax.numpy as jnp\n" + SOLVED[SOLVED.index("@partial") :]
EXPECTED = ("constant", "copy", "one_hot", "sort")


@pytest.fixture(scope="module")
def before() -> Capture:
    """The capture of the slow model; skips on other processors whose compiler leaves other faults."""
    patient = importlib.import_module("practice.capstone.patient")
    before = capture(patient.step, *patient.EXAMPLE, passes=False)
    if platform.machine().lower() not in {"x86_64", "amd64"} and list_shown(before) != EXPECTED:
        pytest.skip("this machine's compiler leaves other faults in the model")
    return before


@pytest.fixture(scope="module")
def proofs(before: Capture) -> dict[str, str]:
    """The name of an instruction for each fault, from a dump made here."""
    return {fault: FAULTS[fault](before)[0].name for fault in EXPECTED}


def list_shown(capture: Capture) -> tuple[str, ...]:
    """Return the faults that a dump shows."""
    return tuple(fault for fault, find in FAULTS.items() if find(capture))


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


PROGRAMS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "callback": lambda x: jax.pure_callback(lambda x: x, shape(256, 256), x) + 1,
    "constant": lambda x: x + np.arange(65536, dtype=np.float32).reshape(256, 256),
    "copy": lambda x: jax.lax.dynamic_update_slice(x, jnp.zeros((1, 256)), (3, 0)),
    "one_hot": lambda x: jax.nn.one_hot(jnp.int32(x[0, :8]), 256) @ x,
    "rows": lambda x: jax.lax.map(lambda row: jnp.tanh(x @ row), x),
    "sort": lambda x: jnp.sort(x, axis=-1)[:, -1],
    "transpose": lambda x: x.T @ jnp.tanh(x),
    "unrolled": lambda x: reduce(lambda x, _: jnp.tanh(x @ x), range(6), x),
}


def test_each_fault_is_found_in_a_program_that_has_it_and_only_there() -> None:
    assert list(PROGRAMS) == list(FAULTS)
    captures = {name: capture(program, shape(256, 256), passes=False) for name, program in PROGRAMS.items()}
    faults_by_program = {name: [fault for fault, find in FAULTS.items() if find(one)] for name, one in captures.items()}
    assert faults_by_program == {name: [name] for name in PROGRAMS}


def test_the_slow_model_has_some_of_the_eight_faults(before: Capture) -> None:
    assert list_shown(before) == EXPECTED


def test_file_and_model_do_not_reveal_the_faults() -> None:
    task = BY_KEY[KEY].task
    assert [f"* `{fault}`: " in task for fault in FAULTS] == [True] * len(FAULTS)
    model = BY_KEY[KEY].file.with_name("patient.py").read_text(encoding="utf-8").partition("import jax")[0]
    assert not any(fault in model for fault in FAULTS)


@pytest.fixture
def try_out(sandbox: Sandbox, tmp_path: Path) -> Trial:
    """A function that marks faults with proofs, and a step; returns the verdict, and the bad remarks as text."""

    def tries(faults: object, step: str = STEP) -> tuple[ExerciseVerdict, str]:
        verdict = mark(plant(KEY, tmp_path, f"FAULTS = {faults!r}\n{step}"), sandbox)
        return verdict, " / ".join(remark.text for remark in verdict.remarks if not remark.good)

    return tries


def test_names_prove_a_fault(proofs: dict[str, str], try_out: Trial) -> None:
    verdict, message = try_out(proofs)
    assert (verdict.verdict, message) == ("right", "")
    assert [remark.text for remark in verdict.remarks if remark.text.endswith(": fixed")] == [
        f"{fault}: fixed" for fault in proofs
    ]
    assert any("bytes read and written" in line for line in verdict.remarks[-1].lines)


@pytest.mark.parametrize(
    "copied",
    [
        "%NAME = f32[2048,128]{1,0} copy(%memory.1)",
        "  %NAME  =  f32[2048,128]{1,0} copy(%memory.1), metadata={}",
        "%copy.77 = f32[2048,128]{1,0} copy(%memory.1)",
        "f32[2048,128]{1,0} copy(",
        " f32[2048,128]{1,0}  copy(%memory.1)",
    ],
)
def test_a_line_proves_a_fault_also_under_the_name_that_it_has_elsewhere(
    copied: str, proofs: dict[str, str], try_out: Trial
) -> None:
    line = copied.replace("NAME", proofs["copy"])
    verdict, message = try_out(proofs | {"copy": line})
    assert (verdict.verdict, message) == ("right", "")
    assert any(remark.text == f"copy: `%{proofs['copy']}` shows it" for remark in verdict.remarks)


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sort": None}, "the dump shows 4 faults, but you have proven only 3"),
        (dict.fromkeys(EXPECTED), "the dump shows 4 faults, but you have proven only 0"),
        ({"sort": "NAME"}, "sort: this line of the dump does not show the fault"),
        ({"transpose": "NAME"}, "transpose: this line of the dump does not show the fault"),
        ({"sort": "f32[2048,128]{1,0} copy("}, "sort: this line of the dump does not show the fault"),
        ({"sort": "f32[] parameter("}, "lines of the dump match, but not all of them show the fault"),
        ({"sort": "f32[8]{0} sort("}, "sort: no line of the dump has `f32[8]{0} sort(`"),
        ({"sort": "sort.99"}, "sort: no instruction of the dump is called `sort.99`"),
        ({"sort": "%NAME = f32[8]{0} sort(%x)"}, "is in the dump, but its line reads otherwise"),
        ({"sort": 3}, "3 is neither a line of the dump"),
        ({"sort": ""}, "'' is neither a line of the dump"),
        ({"sort": "what sorts(the rows"}, "is neither a line of the dump"),
        ({"onehot": "NAME"}, "no fault is called 'onehot'; did you mean 'one_hot'?"),
        ({7: "NAME"}, "no fault is called 7; the eight faults are callback, constant"),
        (dict.fromkeys(FAULTS, "NAME"), "this line of the dump does not show the fault"),
    ],
)
def test_unproved_faults_are_reported_without_revealing_others(
    changes: dict[object, object], expected: str, proofs: dict[str, str], try_out: Trial
) -> None:
    lines = {
        fault: line.replace("NAME", proofs["copy"]) if isinstance(line, str) else line
        for fault, line in changes.items()
    }
    faults = {fault: line for fault, line in {**proofs, **lines}.items() if line is not None}
    verdict, message = try_out(faults)
    assert (verdict.verdict, expected in message) == ("wrong", True), message
    if changes == {"sort": None}:
        assert "sort" not in message


def test_an_answer_that_is_not_a_dict_is_rejected(try_out: Trial) -> None:
    verdict, message = try_out(["sort"])
    assert (verdict.verdict, "must be a dict" in message) == ("wrong", True), message


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.parametrize(
    ("old_text", "into", "expected"),
    [
        ('@partial(jax.jit, donate_argnames="memory")', "@jax.jit", "copy, "),
        ("jax.lax.dynamic_slice(positions,", "jax.lax.dynamic_slice(jnp.asarray(patient.POSITIONS),", "constant, "),
        ('jnp.take(weights["table"], ids, axis=0)', 'jax.nn.one_hot(ids, 512) @ weights["table"]', "one_hot, "),
        ('jnp.tanh(tokens @ weights["mix"])', 'jnp.tanh(weights["mix"].T @ tokens.T).T', "transpose, "),
        ("jnp.tanh(tokens", "jnp.sin(tokens", "the numbers are wrong"),
        ("return shares, ", "return ", "it returns "),
    ],
)
def test_an_unfixed_or_worse_program_is_reported(
    old_text: str, into: str, expected: str, proofs: dict[str, str], try_out: Trial
) -> None:
    assert old_text in STEP
    verdict, message = try_out(proofs, STEP.replace(old_text, into))
    assert (verdict.verdict, expected in message) == ("wrong", True), message
