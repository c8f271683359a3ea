"""`xla-inspect recompiles` on unchanged training scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest

from xla_inspect.commands import command_line
from xla_inspect.targets import list_original

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "training"

SCRIPTS: Mapping[str, Mapping[str, list[tuple[str, str]]]] = {
    "digits": {
        "train_step": [("shape", "batch['image']"), ("weak type", "lr"), ("weak type", "lr")],
        "accuracy": [],
    },
    "parallel": {"Trainer._train_step": [("static value", "rate")] * 2},
}
"""The functions that each script compiles, with the causes of their further compilations."""


@pytest.fixture(autouse=True)
def _started() -> None:
    """Start JAX with the same number of devices in any order of tests."""
    jax.devices()


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = command_line.run_here([*words])
    output = capsys.readouterr()
    return status, output.out, output.err


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_compile_of_a_training_script_has_its_reason(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = str(FOLDER / f"{name}.py")
    status, out, err = ask(capsys, "recompiles", "--json", "run", script)
    record = json.loads(out)
    calls_by_function = {
        function["name"]: [
            (call["differences"][0]["kind"], call["differences"][0]["argument"]) for call in function["calls"][1:]
        ]
        for function in record["functions"]
    }
    assert status == 0
    assert calls_by_function == SCRIPTS[name]
    # What the script prints is no part of the answer.
    assert "loss" in err


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_training_script_has_a_step_that_can_be_asked_about(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ask(capsys, "summary", "--target", "cpu:8", "run", str(FOLDER / f"{name}.py"))
    assert status == 0
    assert out.startswith(f"{next(iter(SCRIPTS[name]))}: ")
    others = [*SCRIPTS[name]][1:]
    assert (f"the script also compiles: {', '.join(others)} (select one with --only NAME)\n" in out) == bool(others)


UNEVEN = "import jax, numpy as np\nstep = jax.jit(lambda x: x * 2)\nfor n in (8, 8, 7):\n    step(np.ones(n))\n"


@pytest.mark.parametrize(
    ("at_most", "status", "message"), [("2", 0, "1 function"), ("1", 1, "more than 1 time: <lambda>")]
)
def test_the_answer_fits_80_columns_and_fails_if_too_much_is_compiled(
    at_most: str, status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "uneven.py"
    script.write_text(UNEVEN, encoding="utf-8")
    answer, out, _ = ask(capsys, "recompiles", "--at-most", at_most, "run", str(script))
    assert answer == status
    assert out.startswith("2 compilations of 1 function")
    assert message in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


HEAD = "import jax, jax.numpy as jnp\nfrom functools import partial\nx = jnp.ones(3)\n"
TWO = """
class first:
    @jax.jit
    def step(x): return jnp.sin(x)
class second:
    @jax.jit
    def step(x): return jnp.tanh(x) * x
"""
CHARGED: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "at compile time": (
        """
@jax.jit
def inner(x): return jnp.sin(x) * 2
@jax.jit
def outer(x):
    with jax.ensure_compile_time_eval():
        return x + inner(jnp.ones(3)) + jnp.linspace(0, 1, 3)
outer(x); outer(jnp.ones((2, 3)))
""",
        {"inner:5": 1, "outer:7": 2},
    ),
    "made anew at compile time": (
        """
@jax.jit
def outer(x):
    with jax.ensure_compile_time_eval():
        return x + jax.jit(lambda y: y * 3)(jnp.ones(3))
outer(x); outer(jnp.ones((2, 3)))
""",
        {"<lambda>:8": 2, "outer:5": 2},
    ),
    "in a callback": (
        """
@jax.jit
def helper(x): return jnp.cos(x) + 1
@jax.jit
def step(x): return jax.pure_callback(lambda y: helper(jnp.asarray(y)), x, x) * 2
step(x).block_until_ready()
""",
        {"helper:5": 1, "step:7": 1},
    ),
    "inlined": (
        """
@partial(jax.jit, inline=True)
def inner(x): return x - 1
@jax.jit
def outer(x): return inner(x) * 2
outer(x); inner(x)
""",
        {"inner:5": 1, "outer:7": 1},
    ),
    "of one name, backward": (
        TWO + "jax.grad(lambda x: second.step(first.step(x)).sum())(x)\nfirst.step(jnp.ones(4))\n",
        {"first.step:6": 3, "second.step:9": 2},
    ),
    "of one name, ahead of time": (
        TWO + "lowered = [each.step.lower(x) for each in (first, second)]\nlowered[0].compile()\n",
        {"first.step:6": 1},
    ),
    "mapped": ("@jax.jit\ndef step(x): return x + 1\njax.vmap(step)(jnp.ones((2, 3))); step(x)\n", {"step:4": 2}),
    "spread eagerly": (
        """
mesh = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1])
spec = jax.sharding.PartitionSpec()
jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)(x)
""",
        {},
    ),
}
"""Scripts, and how many times each function is compiled, by its name and the line that defines it."""


@pytest.mark.parametrize("way", CHARGED)
def test_a_compile_is_charged_to_the_function_that_jax_names(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    text, expected = CHARGED[way]
    script = tmp_path / "script.py"
    script.write_text(HEAD + text, encoding="utf-8")
    with jax.log_compiles(), caplog.at_level("WARNING", "jax._src.dispatch"):
        _, out, _ = ask(capsys, "recompiles", "--json", "run", str(script))
    record = json.loads(out)
    charged = {
        f"{function['name']}:{function['defined'].rpartition(':')[2]}": count
        for function in record["functions"]
        if (count := sum(call["compiles"] for call in function["calls"]))
    }
    own = sum(sum(line["operations"].values()) for line in record["own"])
    assert charged == expected
    assert sum(charged.values()) + own == caplog.text.count("Finished XLA compilation of")


def test_a_function_is_not_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ask(capsys, "recompiles", f"{FOLDER / 'digits.py'}:train_step")
    assert (status, out) == (2, "")
    assert "needs a whole script" in err


def test_an_exception_in_a_script_is_reported_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "raises.py"
    script.write_text("import jax\njax.jit(lambda x: x)(1.0)\nraise ValueError('so')\n", encoding="utf-8")
    status, out, err = ask(capsys, "recompiles", "run", str(script))
    assert (status, out) == (2, "")
    assert err.startswith(f"xla-inspect: {script}:3: ValueError: so\n")


SETTLES = """
import os
os.environ["JAX_ENABLE_X64"] = "1"
if "--many" in os.sys.argv:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
jax.config.update("jax_platforms", "cuda")
print(jax.device_count(), jnp.ones(1).dtype)
jax.jit(lambda x: x * 2)(jnp.ones(3))
os._exit(0)
"""


@pytest.mark.parametrize("subject", ["", "--many", "--target=tpu-v5e:2x2"])
def test_a_script_starts_jax_with_its_own_settings_or_the_devices_of_the_target(
    subject: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script runs in a new process, which has not imported JAX yet."""
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES", raising=False)
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in flag]
    monkeypatch.setenv("XLA_FLAGS", " ".join(flags))
    script = tmp_path / "settles.py"
    script.write_text(SETTLES, encoding="utf-8")
    words = [subject] if subject.startswith("--target") else []
    assert command_line.main(["recompiles", *words, "run", str(script), subject]) == 0
    output = capfd.readouterr()
    assert output.out.startswith("1 compilation of 1 function")
    assert f"{DEVICES[subject]} float64\n" in output.err


DEVICES = {"": 1, "--many": 2, "--target=tpu-v5e:2x2": 4}
"""The number of devices that a script finds, by the option of the command."""


SEES = """
import json, os, sys
names = {name for name in globals() if name.startswith("__")}
seen = [dict(os.environ), sys.path, sys.argv, __name__, __file__, os.getcwd(), sorted(names)]
print(json.dumps(seen))
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=6")
import jax
print(jax.config.jax_platforms, jax.config.jax_num_cpu_devices, len(jax.devices("cpu")), os.environ["XLA_FLAGS"])
jax.jit(lambda x: x)(1.0)
"""


def test_a_script_has_the_same_environment_as_under_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sees.py").write_text(SEES, encoding="utf-8")
    clean = list_original()
    plain = [sys.executable, "sees.py", "--json"]
    expected = subprocess.run(plain, capture_output=True, text=True, check=True, env=clean).stdout.splitlines()
    command = [sys.executable, "-m", "xla_inspect", "recompiles", "run", "sees.py", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=clean)
    lines = result.stderr.splitlines()
    assert lines[0] == "xla-inspect: --json: passed to the script; put options of xla-inspect before `run`"
    assert [json.loads(line) for line in lines if line.startswith("[")] == [json.loads(expected[0])]
    assert expected[1] in lines
