"""`xla-inspect check`: budgets that hold or are broken by code or compiler, with the exit statuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from xla_inspect.budgets import BudgetReport, Checked
from xla_inspect.commands import check, command_line

MODEL = """import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((256, 64), jnp.float32),)
def gate(x):
    up = jnp.tanh(x)
    return up * 2.0
def write(cache, row):
    return jax.lax.dynamic_update_slice(cache, row, (3, 0))
"""
BUDGET = """
[gate]
subject = "model.py:gate"
peak = "recorded"
kernels = "<= 1"
one_kernel = ["up", "up * 2.0"]

[write]
subject = "model.py:write"
args = "f32[64,8], f32[1,8]"
donate = "cache"
in_place = 0
"""
FILE, RECORD = Path("xla-budget.toml"), Path("xla-budget.json")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a model, its budgets, and a record of them."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / FILE).write_text(BUDGET, encoding="utf-8")
    assert command_line.main(["check", str(folder / FILE), "--update"]) == 0
    return folder


@pytest.fixture
def project(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded project for changes."""
    for name in ("model.py", FILE, RECORD):
        shutil.copy(recorded / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(old: str, new: str, path: Path = Path("model.py")) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.usefixtures("project")
def test_the_cause_of_a_broken_budget_decides_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["check"]) == 0
    assert capsys.readouterr().out.splitlines()[-5:] == [
        "  gate     cpu      128 KiB   128 KiB  holds    peak recorded",
        "  gate     cpu            1         1  holds    kernels <= 1",
        "  gate     cpu                         holds    one_kernel up, up * 2.0",
        "  write    cpu                         holds    in_place 0",
        "",
    ]
    edit("jnp.tanh(x)", "jax.lax.optimization_barrier(jnp.tanh(x))")
    assert command_line.main(["check", "--only", "gate"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "1 of 3 bounds hold, 2 broken (your program changed)." in out
    assert "Your program changed since the record, and the compiler did not: model.py." in out
    assert "separates them until fusion is complete" in out
    # The same, had the record been made of this program by another compiler.
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    was = records["programs"]["gate cpu"]["fingerprint"]
    was["versions"]["jaxlib"], was["sources"] = "0.1", {}
    RECORD.write_text(json.dumps(records), encoding="utf-8")
    assert command_line.main(["check", "--only", "gate"]) == 4
    out = " ".join(capsys.readouterr().out.split())
    assert "2 broken (the compiler changed)" in out
    assert "jaxlib 0.1 -> " in out
    assert "run xla-inspect check --update" in out
    # Held against the new record nobody changed, and it is the bound that has to.
    assert command_line.main(["check", "--only", "gate", "--update"]) == 1
    assert "run xla-inspect check --update" not in " ".join(capsys.readouterr().out.split())
    assert sorted(json.loads(RECORD.read_text(encoding="utf-8"))["programs"]) == ["gate cpu", "write cpu"]


@pytest.mark.usefixtures("project")
def test_a_bound_that_did_not_hold_when_it_was_recorded_is_not_put_down_to_the_compiler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    edit('kernels = "<= 1"', 'kernels = "<= 0"', FILE)
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    records["programs"]["gate cpu"]["fingerprint"]["versions"]["jaxlib"] = "0.1"
    RECORD.write_text(json.dumps(records), encoding="utf-8")
    assert command_line.main(["check", "--only", "gate"]) == 1
    assert "the compiler changed)" not in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_an_answer_is_printed_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert command_line.main(["check", "--only", "write", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["holds"], [row["claim"] for row in answer["rows"]]) == (True, ["in_place 0"])


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (FILE, "model.py:gate", "model.py:gat", "model.py has no function 'gat'; did you mean 'gate'?"),
        (FILE, "model.py:gate", "modl.py:gate", "no file modl.py"),
        (FILE, '"up * 2.0"', '"upp"', "gate has no instruction, variable or operation 'upp'; the nearest are up"),
        (FILE, "in_place = 0", "in_place = 7", "argument=7: write is called with 2 arguments by position"),
        (FILE, "f32[1,8]", "f32[1,8", "this is no shape such as f32"),
        (Path("model.py"), "import jax,", "import jaxx,", "ModuleNotFoundError: No module named 'jaxx'"),
        (RECORD, '"format": 1', '"format": 9', "has format 9, but this xla-inspect reads format 1; record it again"),
        (RECORD, '"format": 1', "<", "is not a file of records: "),
        (RECORD, '"peak":', '"peek":', "nothing was recorded of peak of gate on CPU"),
        (RECORD, '"number":', '"numbr":', "is not a record of a program"),
    ],
)
@pytest.mark.usefixtures("project")
def test_an_error_has_a_clear_message(
    path: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(old, new, path)
    assert command_line.main(["check", "--only", "write" if old in {"in_place = 0", "f32[1,8]"} else "gate"]) == 2
    output = capsys.readouterr()
    assert message in " ".join((output.out + output.err).split())
    assert "Traceback" not in output.err


@pytest.mark.usefixtures("project")
def test_an_unrecorded_program_does_not_hide_later_broken_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    RECORD.unlink()
    edit("in_place = 0", "in_place = 1\nno_copies = true", FILE)
    assert command_line.main(["check"]) == 2
    output = " ".join(capsys.readouterr().out.split())
    assert output.startswith(
        "xla-budget.toml: 3 of 4 bounds hold, 1 broken (nothing was recorded); 1 could not be checked."
    )
    assert "write on cpu, in_place 1: " in output
    assert "nothing was recorded of peak of gate on CPU: " in output


def test_a_missing_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # noqa: ANN001
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["check"]) == 2
    assert "no file xla-budget.toml; write one such as:" in capsys.readouterr().err


def row(outcome: str, blame: str) -> Checked:
    return Checked("step", "cpu", "kernels <= 1", outcome, blame, said="kernels is 2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([row("holds", "compiler")], 0),
        ([row("broken", "code")], 1),
        ([row("broken", "compiler"), row("broken", "both")], 1),
        ([row("broken", "unrecorded")], 1),
        ([row("broken", "nothing")], 1),
        ([row("broken", "compiler"), row("holds", "code")], 4),
        ([row("holds", "nothing"), row("missing", "unrecorded")], 3),
        ([row("broken", "compiler"), row("missing", "unrecorded")], 3),
        ([row("broken", "code"), row("missing", "unrecorded")], 1),
        ([row("broken", "code"), row("unknown", "unrecorded")], 2),
    ],
)
def test_the_weightiest_outcome_is_the_exit_status(rows: list[Checked], status: int) -> None:
    assert check.choose_status(BudgetReport("xla-budget.toml", tuple(rows))) == status
