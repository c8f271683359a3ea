"""Scripts that run unchanged, and the functions in them that can be inspected."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import jax
import pytest
from jax._src import pjit

from xla_inspect.errors import InspectError
from xla_inspect.subject import Request, Subject, read_script

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import sys
from functools import partial
import jax, jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
shape = jax.ShapeDtypeStruct((4, 2), "float32")
x = jnp.ones((4, 2))
"""

JITTED = {
    "decorated": ("@jax.jit\ndef step(x):\n    return x * 2\nstep(x)", "step", "float32[4,2]"),
    "jitted by a call": ("def step(x):\n    return x * 2\njax.jit(step)(x)", "step", "float32[4,2]"),
    "decorated with options": (
        (
            "@partial(jax.jit, static_argnums=1, static_argnames='much')\ndef step(x, n, *, much):\n"
            "    return x * n * much\nstep(x, 3, much=2)"
        ),
        "step",
        "float32[4,2]",
    ),
    "a method": (
        (
            "class Trainer:\n    def __init__(self):\n        self.run = jax.jit(self.step)\n    def step(self, x):\n"
            "        return x * 2\nTrainer().run(x)"
        ),
        "Trainer.step",
        "float32[4,2]",
    ),
    "compiled ahead of time": (
        "@jax.jit\ndef step(x):\n    return x * 2\nstep.lower(shape).compile()",
        "step",
        "float32[4,2]",
    ),
    "evaluated by shapes": (
        "@jax.jit\ndef step(x):\n    return x * 2\njax.eval_shape(step, shape)",
        "step",
        "float32[4,2]",
    ),
    "in a loop": ("for n in range(3):\n    jax.jit(lambda x, n=n: x * n)(x)", "<lambda>", "float32[4,2]"),
    "a partial application": (
        "def step(n, x):\n    return x * n\njax.jit(partial(step, 3))(x)",
        "step",
        "float32[4,2]",
    ),
    "differentiated": (
        "def loss(x):\n    return (x * x).sum()\njax.jit(jax.value_and_grad(loss))(x)",
        "value_and_grad(loss)",
        "float32[4,2]",
    ),
    "mapped over devices": ("def step(x):\n    return x * 2\njax.pmap(step)(x[:1])", "step", "float32[1,2]"),
    "one of JAX's, jitted by the script": ("jax.jit(jnp.cbrt)(x)", "cbrt", "float32[4,2]"),
    "with a Python number": ("@jax.jit\ndef step(x, lr):\n    return x * lr\nstep(x, 0.1)", "step", "float32[4,2]"),
    "called in a thread": (
        (
            "import threading\n@jax.jit\ndef step(x):\n    return x * 2\n"
            "thread = threading.Thread(target=step, args=(x,))\nthread.start()\nthread.join()"
        ),
        "step",
        "float32[4,2]",
    ),
    "spread by shard_map": (
        (
            "mesh = jax.make_mesh((2,), ('data',))\ndef add(x):\n    return jax.lax.psum(x, 'data')\n"
            "@jax.jit\ndef step(x):\n"
            "    return jax.shard_map(add, mesh=mesh, in_specs=P('data'), out_specs=P())(x)\n"
            "step(jax.device_put(x, NamedSharding(mesh, P('data'))))"
        ),
        "step",
        "float32[4@data,2]",
    ),
}
"""A script, the function in question, and the type of its first argument."""


@pytest.fixture(autouse=True)
def _started() -> None:
    """Start JAX with the same number of devices in any order of tests."""
    jax.devices()


def read(tmp_path: Path, text: str, *words: str, only: str = "") -> Subject:
    script = tmp_path / "script.py"
    script.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
    return read_script(Request(("run", str(script), *words), only=only))


@pytest.mark.parametrize("way", JITTED)
def test_a_function_is_found_with_any_form_of_jit_and_can_be_traced_again(way: str, tmp_path: Path) -> None:
    text, name, first = JITTED[way]
    subject = read(tmp_path, text)
    assert subject.name == name
    traced = subject.program().traced.stage
    assert traced.jaxpr.in_avals[0].str_short() == first


def test_arrays_are_not_kept_alive_and_static_and_donated_arguments_stay_so(tmp_path: Path) -> None:
    text = "@partial(jax.jit, static_argnums=1, donate_argnums=0)\ndef step(x, n):\n    return x * n\nstep(x, 3)"
    subject = read(tmp_path, text)
    assert subject.call is not None
    assert subject.call.args == (jax.ShapeDtypeStruct((4, 2), "float32"),)
    lowered = subject.program().traced.stage.lower().as_text()
    assert "tf.aliasing_output = 0" in lowered
    assert "dense<3.0" in lowered


def test_the_shardings_and_the_mesh_of_a_script_are_carried_over(tmp_path: Path) -> None:
    text = """
    mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))
    @jax.jit
    def step(x):
        return jax.lax.with_sharding_constraint(x * 2, P("data"))
    with jax.set_mesh(mesh):
        step(jax.device_put(x, NamedSharding(mesh, P("data"))))
    """
    subject = read(tmp_path, text)
    assert subject.call is not None
    assert subject.call.devices == 4
    assert subject.name_target("h100") == "h100:4"
    assert 'sdy.mesh @mesh = <["data"=4]>' in subject.program().traced.stage.lower().as_text()


def test_a_setting_active_during_the_call_is_restored(tmp_path: Path) -> None:
    subject = read(tmp_path, "with jax.enable_x64(True):\n    jax.jit(lambda y: y * 2)(1.0)")
    assert subject.program().traced.stage.jaxpr.in_avals[0].str_short() == "float64[]"


def test_the_largest_of_several_functions_is_selected_and_the_others_are_listed(tmp_path: Path) -> None:
    text = """
    small, large = jax.jit(lambda x: x), jax.jit(lambda x: jnp.sin(x) * 2 + 1)
    def init(n): return jnp.ones(n)
    init = jax.jit(init, static_argnums=0)
    def step(x): return jnp.sin(x) * 2 + jnp.cos(x)
    step = jax.jit(step)
    init(3), step(x), step(x[:3])
    """
    subject = read(tmp_path, text)
    assert (subject.name, subject.others) == ("step", ("init",))
    assert subject.call is not None
    # The first of two calls is the larger one.
    assert subject.call.args[0].shape == (4, 2)


def test_a_script_ends_at_the_compilation_of_the_named_function(tmp_path: Path) -> None:
    text = """
    def step(x): return x @ x.T
    step = jax.jit(step)
    step.lower(jax.ShapeDtypeStruct((1 << 20, 1 << 20), "float32")).compile()
    raise ValueError("never reached")
    """
    subject = read(tmp_path, text, only="step")
    assert subject.call is not None
    assert subject.call.args[0].shape == (1 << 20, 1 << 20)


def test_a_function_that_is_only_called_as_another_is_traced_can_be_named(tmp_path: Path) -> None:
    text = "@jax.jit\ndef inner(x):\n    return x * 2\n@jax.jit\ndef outer(x):\n    return inner(x) + 1\nouter(x)"
    assert read(tmp_path, text, only="inner").name == "inner"
    assert read(tmp_path, text).name == "outer"


ENDS = {
    "jits nothing": ("print(1)", "", "compiled nothing with JAX|jits no function of its own"),
    "runs operations of JAX's one by one": ("jnp.ones(37) + 1", "", "jits no function of its own: what it compiles"),
    "has no such function": (
        "@jax.jit\ndef step(x):\n    return x\nstep(x)",
        "stop",
        "compiles no function 'stop'; did you mean 'step'",
    ),
    "ends with an error status": ("sys.exit(3)", "", r"ended with sys\.exit\(3\)"),
}


@pytest.mark.parametrize("way", ENDS)
def test_an_unsupported_function_is_reported_with_a_message(way: str, tmp_path: Path) -> None:
    text, only, message = ENDS[way]
    with pytest.raises(InspectError, match=message):
        read(tmp_path, text, only=only)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "run what"),
        (("-m",), "run what"),
        (("none.py",), "no file none.py"),
        (("-m", "no.such.module"), "there is no module 'no.such.module' to run"),
        (("-m", "xla_inspect.hlo"), "a package needs a __main__"),
    ],
)
def test_a_missing_script_is_reported(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(InspectError, match=message):
        read_script(Request(("run", *words)))


def test_a_script_finds_the_same_files_and_modules_as_under_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_script.py").write_text("HERE = 7\n", encoding="utf-8")
    text = """
    import beside_the_script, os, pickle
    class Kept: pass
    assert pickle.loads(pickle.dumps(Kept())).__class__ is Kept
    if __name__ == "__main__":
        jax.jit(lambda x: x)(x)
        print(sys.argv, __file__, os.getcwd(), beside_the_script.HERE)
        sys.exit(0)
    """
    before = sys.argv, sys.modules["__main__"]
    read(tmp_path, text, "--steps", "3")
    script = str(tmp_path / "script.py")
    assert capsys.readouterr().out == f"{[script, '--steps', '3']} {script} {tmp_path} 7\n"
    assert (sys.argv, sys.modules["__main__"]) == before


def test_a_module_of_a_package_runs_as_with_python_m(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    package = tmp_path / "a_package_of_a_script"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "parts.py").write_text("def step(x):\n    return x * 2\n", encoding="utf-8")
    (package / "train.py").write_text(f"{HEAD}\nfrom .parts import step\njax.jit(step)(x)\n", encoding="utf-8")
    assert read_script(Request(("run", "-m", "a_package_of_a_script.train"))).name == "step"


def test_jax_is_unchanged_after_a_script(tmp_path: Path) -> None:
    before = pjit._infer_params, pjit._run_python_pjit  # noqa: SLF001 - what is watched
    with pytest.raises(ValueError, match="so"):
        read(tmp_path, "raise ValueError('so')")
    assert (pjit._infer_params, pjit._run_python_pjit) == before  # noqa: SLF001


def test_calls_of_compiled_functions_are_not_intercepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener must add no cost to each step of a long loop."""
    from xla_inspect.subject import compile_listener

    looked: list[str] = []
    trace = compile_listener.Watch._trace  # noqa: SLF001 - what looks

    def count(*args: object) -> object:
        looked.append("at one")
        return trace(*args)  # type: ignore[arg-type]  # as they come

    monkeypatch.setattr(compile_listener.Watch, "_trace", count)
    read(tmp_path, "step = jax.jit(lambda x: x * 2)\nx = step(x)\nsize = len\nfor _ in range(1000):\n    x = step(x)")
    assert len(looked) < 10
