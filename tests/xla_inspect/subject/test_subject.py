"""Subjects: functions of files and packages, methods and models, with arguments in any form."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.errors import InspectError
from xla_inspect.subject import Request, Subject, load_file, read_function, read_mesh, read_saved

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
import functools, jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((4, 8), jnp.float32),)
def plain(x): return jnp.tanh(x)
jitted = jax.jit(plain)
partial = functools.partial(jnp.power, 2.0)
class Net:
    scale = 2.0
    def forward(self, x): return x * self.scale
    @staticmethod
    def still(x): return -x
    @classmethod
    def named(cls, x): return x * cls.scale
net = Net()
def make(): return (jnp.ones((3, 3)), {"w": jnp.zeros(5)})
def takes(a, b): return a.sum() + b["w"].sum()
def gated(x, on): return x if on else -x
def named(x, *, by): return x * by
LIMIT = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"m{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def read(*words: str, **options: object) -> Subject:
    return read_function(Request(words, **options))  # type: ignore[arg-type]  # as named


@pytest.mark.parametrize("name", ["plain", "jitted", "partial", "net.forward", "Net.forward", "Net.still", "Net.named"])
def test_any_callable_is_found_by_its_name(name: str, file: Path) -> None:
    text = read(f"{file}:{name}").capture("cpu").jaxpr
    assert "f32[4,8]" in text


def test_arguments_come_from_shapes_in_a_shell_or_from_what_makes_them(file: Path) -> None:
    listed = read(f"{file}:takes", args_from=f"{file}:make")
    assert listed.call is not None
    assert jax.tree.map(lambda leaf: leaf.shape, listed.call.args) == ((3, 3), {"w": (5,)})
    subject = read(f"{file}:plain", args="bf16[2, 3]")
    assert "bf16[2,3]" in subject.capture("cpu").jaxpr


@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("f32[64,128], i32[]", ["float32", "int32"]),
        ("pred[2],s8[3],u4[2]", ["bool", "int8", "uint4"]),
        ("f8e4m3fn[8], float16[1], c64[2]", ["float8_e4m3fn", "float16", "complex64"]),
    ],
)
def test_types_are_named_as_hlo_and_as_numpy_name_them(text: str, dtypes: list[str], file: Path) -> None:
    call = read(f"{file}:plain", args=text).call
    assert call is not None
    assert [str(leaf.dtype) for leaf in call.args] == dtypes


def test_a_random_key_can_be_an_argument(file: Path) -> None:
    call = read(f"{file}:plain", args="key[]").call
    assert call is not None
    assert jnp.issubdtype(call.args[0].dtype, jax.dtypes.prng_key)


def test_a_gradient_a_batch_static_and_donated_arguments_are_asked_for(file: Path) -> None:
    assert "cosh" in (text := read(f"{file}:plain", grad=True).capture("cpu").jaxpr) or "mul" in text
    assert "f32[7,4,8]" in read(f"{file}:plain", vmap=7).capture("cpu").jaxpr
    assert read(f"{file}:plain", donate=("0",)).capture("cpu").memory.aliased == 128
    file.write_text(
        TEXT.replace("EXAMPLE = (", "EXAMPLE = (*(True,) * 0, ").replace("),)", "), True)"), encoding="utf-8"
    )
    assert (
        "f32[4,8]" in read(f"{file.rename(file.with_name('other_name.py'))}:gated", static=("on",)).capture("cpu").jaxpr
    )


@pytest.mark.parametrize(
    ("settings", "static"), [("", ("mode",)), ("", (1,)), ("ARGUMENTS = {'static_argnums': 1}\n", ()), ("", ())]
)
def test_a_text_among_the_arguments_is_the_value_of_a_static_one(
    tmp_path: Path, settings: str, static: tuple[int | str, ...]
) -> None:
    path = tmp_path / f"modes_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(
        f"import jax, jax.numpy as jnp\n{settings}EXAMPLE = (jnp.ones(4), 'sine')\n"
        "def apply(x, mode): return jnp.sin(x) if mode == 'sine' else jnp.cos(x)\n",
        encoding="utf-8",
    )
    assert "sin" in read(f"{path}:apply", static=static).capture("cpu").jaxpr


def test_a_file_of_a_package_imports_relatively_and_a_package_is_named_with_dots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packaged" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package.parent / "sizes.py").write_text("N = 3\n", encoding="utf-8")
    (package / "model.py").write_text(
        "from ..sizes import N\nimport jax.numpy as jnp\nEXAMPLE = (jnp.ones(N),)\ndef f(x): return x + N\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert "f32[3]" in read(f"{package / 'model.py'}:f").capture("cpu").jaxpr
    assert "f32[3]" in read("packaged.inner.model:f").capture("cpu").jaxpr


def test_a_file_named_like_a_standard_module_does_not_shadow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("def dumps(x): return x\nEXAMPLE = (1.0,)\n", encoding="utf-8")
    (tmp_path / "html.py").write_text("raise RuntimeError\n", encoding="utf-8")
    import json

    assert load_file(tmp_path / "json.py").dumps(3) == 3
    assert sys.modules["json"] is json
    monkeypatch.delitem(sys.modules, "html", raising=False)  # and back again: others have parts of it
    import html

    assert html.escape("<") == "&lt;"


def test_a_saved_capture_is_a_subject(file: Path, tmp_path: Path) -> None:
    capture = read(f"{file}:plain").capture("cpu")
    saved = tmp_path / "plain.json"
    saved.write_text(capture.to_json(), encoding="utf-8")
    assert read_saved(Request((str(saved),))).capture("cpu") == capture


def test_a_target_has_as_many_devices_as_the_program_is_spread_over(file: Path) -> None:
    spread = read(f"{file}:plain", mesh={"data": 4, "model": 2})
    assert [spread.name_target(name) for name in ("h100", "tpu-v5e", "cpu", "tpu-v5e:4x4")] == [
        "h100:8", "tpu-v5e:2x4", "cpu:8", "tpu-v5e:4x4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ("{file}:none", {}, "has no function 'none'; it has"),
        ("{file}:Net.none", {}, "has no function 'Net.none (Net)'"),
        ("{file}:LIMIT", {}, "is of the type int, and nothing that can be called"),
        ("{file}", {}, "which function of it, as in"),
        ("no.such.module:f", {}, "there is no module 'no.such.module'"),
        ("{file}:plain", {"args": "f33[2]"}, "JAX has no type 'f33'"),
        ("{file}:plain", {"args": "f32[2"}, "from character 1 on, this is no shape"),
        ("{file}:plain", {"args": "f32[2] f32[3]"}, "a comma is missing at character 8"),
        ("{file}:plain", {"args_from": "make"}, "'make' is not FILE.py:FUNCTION"),
    ],
)
def test_a_missing_subject_is_reported_with_the_correct_form(
    words: str, options: dict[str, str], message: str, file: Path
) -> None:
    with pytest.raises(InspectError) as raised:
        read(words.format(file=file), **options)
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["data", "data=0", "data=x", "=3", "a b=2"])
def test_a_mesh_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InspectError, match="write the axes with their sizes"):
        read_mesh(text)


def test_a_mesh_is_axes_with_sizes() -> None:
    assert read_mesh("data=4, fsdp=64") == {"data": 4, "fsdp": 64}


@pytest.mark.parametrize("options", [{}, {"grad": True}, {"vmap": 3}])
def test_wrapping_a_function_keeps_the_lines_of_the_users_file(options: dict[str, object], file: Path) -> None:
    capture = read(f"{file}:plain", **options).capture("cpu")
    assert capture.source_file == file.name
    assert capture.files == (file.name,)
    assert {frame.file for chain in capture.frames.values() for frame in chain} == {file.name}


@pytest.mark.parametrize("example", ["", "EXAMPLE = (jnp.ones(3),)\n"], ids=["no example", "another's example"])
def test_a_function_without_parameters_needs_no_arguments(example: str, tmp_path: Path) -> None:
    path = tmp_path / f"{tmp_path.name}.py"
    path.write_text(f"import jax.numpy as jnp\n{example}\ndef ones():\n    return jnp.ones(4)\n", encoding="utf-8")
    subject = read_function(Request(words=(f"{path}:ones",)))
    assert subject.call is not None
    assert (subject.call.args, {**subject.call.kwargs}) == ((), {})
    # Arguments that were typed are passed on, so that JAX can say that there are too many.
    other = read_function(Request(words=(f"{path}:ones",), args="f32[3]"))
    assert other.call is not None
    assert len(other.call.args) == 1


def test_a_function_of_programs_is_found_by_its_own_name_too(tmp_path: Path) -> None:
    """A file may list a function in PROGRAMS under a title that a user cannot type after the colon."""
    path = tmp_path / "titled.py"
    path.write_text(
        "import jax\n\ndef double(x):\n    return x * 2\n\n"
        "PROGRAMS = {'twice as much': (double, (jax.ShapeDtypeStruct((3,), 'float32'),))}\n",
        encoding="utf-8",
    )
    subject = read_function(Request(words=(f"{path}:double",)))
    assert (subject.name, subject.program().name) == ("double", "double")
    assert subject.call is not None
    assert [argument.shape for argument in subject.call.args] == [(3,)]
    function = read_function(Request(words=(f"{path}:double",), args="f32[5]"))
    assert function.call is not None
    assert [argument.shape for argument in function.call.args] == [(5,)]


LIBRARY = """
import jax, jax.numpy as jnp
class Jitted:
    '''A function jitted as libraries do: its arguments are split before, and its stages are the library's own.'''
    def __init__(self, function):
        self.jitted = jax.jit(lambda arrays, scale: function({"w": arrays, "scale": scale}), static_argnums=1)
    def __call__(self, model): return self.jitted(model["w"], model["scale"])
    def lower(self, model): return self.jitted.lower(model["w"], model["scale"])
    def trace(self, model): return object()
double = jax.jit(lambda x: x + x)
step = Jitted(lambda model: jnp.sin(double(model["w"])) * model["scale"])
EXAMPLE = ({"w": jax.ShapeDtypeStruct((4, 8), jnp.float32), "scale": 3},)
"""


def test_a_function_that_a_library_jitted_is_compiled_as_the_library_calls_jax(tmp_path: Path) -> None:
    path = tmp_path / "of_a_library.py"
    path.write_text(LIBRARY, encoding="utf-8")
    text = read(f"{path}:step").capture("cpu").jaxpr
    # Of a function that it calls, which is traced first and is jitted too, there is more to say.
    assert "sin" in text
    assert "3.0" in text


@pytest.mark.parametrize(
    "setting",
    [
        "jax.set_mesh(mesh)",
        "jax.set_mesh(mesh).__enter__()",
        "mesh.__enter__()",
        "jax.enable_x64(True).__enter__()",
        "jax.default_matmul_precision('float32').__enter__()",
    ],
)
def test_settings_of_a_file_apply_while_its_function_is_traced(setting: str, tmp_path: Path) -> None:
    path = tmp_path / f"sets{abs(hash(setting))}.py"
    head = f"import jax, jax.numpy as jnp\nmesh = jax.make_mesh((2,), ('data',))\n{setting}\n"
    text = (
        "SPREAD = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('data'))\n"
        "EXAMPLE = (jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=SPREAD),)\ndef f(x): return jnp.sum(x * x)\n"
    )
    path.write_text(head + text, encoding="utf-8")
    command = [sys.executable, "-m", "xla_inspect", "collectives", f"{path}:f", "--target", "cpu"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout[:12]) == (0, "f on CPU x 2"), result.stderr


@pytest.mark.parametrize(
    ("name", "kinds"), [("jnp.argmax(x)", "int32"), ("None", "nothing"), ("x > 0, 3", "bool, int32")]
)
def test_the_gradient_of_a_function_without_float_results_is_rejected(name: str, kinds: str, tmp_path: Path) -> None:
    path = tmp_path / f"whole{len(name)}.py"
    path.write_text(f"{TEXT}def whole(x): return {name}\n", encoding="utf-8")
    with pytest.raises(InspectError, match=f"returns {kinds}; a gradient needs a result of floats"):
        read(f"{path}:whole", grad=True).capture("cpu")


def test_the_function_that_makes_arguments_comes_from_the_same_module(tmp_path: Path) -> None:
    path = tmp_path / "jax_once.py"
    path.write_text(
        "import jax.numpy as jnp\nMADE = {}\ndef make():\n    MADE['a'] = 2\n    return (jnp.ones(3),)\n"
        "def f(x): return x * MADE['a']\n",
        encoding="utf-8",
    )
    assert "f32[3]" in read(f"{path}:f", args_from=f"{path}:make").capture("cpu").jaxpr


NNX = """
import sys, types
import jax, jax.numpy as jnp
class Pytree:
    def __init__(self): self.w = jnp.ones((4, 8))
jax.tree_util.register_pytree_node(Pytree, lambda made: ((made.w,), None), lambda _, held: restore(*held))
def restore(w):
    made = Pytree()
    made.w = w
    return made
def jit(function):
    '''Return the updated state too, as flax.nnx.jit does.'''
    def pure(model, x):
        result = function(model, x)
        return result, model
    return Jitted(jax.jit(pure))
class Jitted:
    def __init__(self, jitted): self.jitted = jitted
    def lower(self, *args): return self.jitted.lower(*args)
    def __call__(self, *args): return self.jitted(*args)
nnx = sys.modules["flax.nnx"] = types.SimpleNamespace(Pytree=Pytree, Module=Pytree, jit=jit)
class Model(Pytree): pass
def step(model, x): model.w = model.w - jnp.sin(x)
def loss(model, x): return jnp.sum(model.w * x)
EXAMPLE = (Pytree(), jnp.ones((4, 8)))
"""


def test_updates_of_an_nnx_object_are_compiled_without_nnx_jit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "flax.nnx", None)
    path = tmp_path / "of_nnx.py"
    path.write_text(NNX, encoding="utf-8")
    with caplog.at_level("INFO"):
        assert "sin" in read(f"{path}:step").capture("cpu").after
    assert "tracing step as nnx.jit does" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO"):
        assert "nnx" not in (read_function(Request((f"{path}:loss",), grad=True)).capture("cpu").jaxpr + caplog.text)
