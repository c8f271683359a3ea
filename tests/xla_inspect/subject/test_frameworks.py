"""Models of PyTorch, Keras and TensorFlow as subjects: their recognition, and the messages about missing parts.

The frameworks are not installed here; `scripts/ci/frameworks` tests the exporters themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.errors import InspectError
from xla_inspect.subject import Request, frameworks, nn_models, read_dump, read_function, read_stablehlo

if TYPE_CHECKING:
    from pathlib import Path

MODELS = """
import jax
Module = type("Module", (), {"__module__": "torch.nn.modules.module", "__call__": lambda self, x: x})
class Net(Module): pass
net = Net()
Function = type("Function", (), {"__module__": "tensorflow.python.eager.polymorphic_function.polymorphic_function"})
function = Function()
def double(x): return 2 * x
PROGRAMS = {"twice": (double, ())}
"""


def stand_in(*modules: str) -> object:
    """Return an object whose classes are those of modules, the object's own class first."""
    bases: tuple[type, ...] = (object,)
    for module in reversed(modules):
        bases = (type("Model", bases, {"__module__": module}),)
    return bases[0]()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"models{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(MODELS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("modules", "framework"),
    [
        (("mine", "torch.nn.modules.module"), "torch"),
        (("torch.nn.modules.linear", "torch.nn.modules.module"), "torch"),
        (("mine", "keras.src.models.model", "keras.src.layers.layer"), "keras"),
        (("keras.src.models.model", "torch.nn.modules.module"), "keras"),
        (("keras.src.models.model", "tensorflow.python.trackable.base"), "keras"),
        (("tensorflow.python.eager.polymorphic_function.concrete_function",), "tensorflow"),
        (("mine", "tensorflow.python.module.module"), "tensorflow"),
        (("torch.utils.data.dataset",), ""),
        (("kerastuner.model",), ""),
        (("mine",), ""),
    ],
)
def test_a_model_is_recognized_by_the_modules_of_its_classes(modules: tuple[str, ...], framework: str) -> None:
    assert nn_models.find_framework(stand_in(*modules)) == framework
    assert nn_models.find_framework(type(stand_in(*modules))) == framework


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("net", {"args": "f32[2]"}, "net is exported by torchax.export, which is not installed; install it next to"),
        ("Net", {"args": "f32[2]"}, "pip install --pre torchax"),
        ("net", {}, "net has no input signature, so give the shapes: --args"),
        ("function", {}, "function is exported by tensorflow, which is not installed"),
        ("net", {"args": "f32[2]", "grad": True}, "--grad, --vmap and --static need a function of JAX"),
        ("net", {"args": "f32[2]", "dims": {"x.0": 2}}, "give all shapes of net with --args"),
        ("double", {"dims": {"x.0": 2}}, "--dim completes the input signature of a framework's model"),
        ("twice", {"dims": {"x.0": 2}}, "give all shapes of twice with --args"),
    ],
)
def test_a_missing_part_of_an_export_is_reported(
    name: str, options: dict[str, object], message: str, file: Path
) -> None:
    with pytest.raises(InspectError) as raised:
        read_function(Request((f"{file}:{name}",), **options))  # type: ignore[arg-type]  # as named
    assert message in str(raised.value)


def test_an_exporter_that_does_not_fit_its_framework_is_reported_with_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exporter_of_models.py").write_text("import math\nmath.no_such_function\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InspectError, match=r"cannot be imported \(module 'math' has no attribute 'no_such_function'\)"):
        frameworks.load_exporter("exporter_of_models", "net", "an-exporter")


def test_a_file_of_onnx_has_to_be_converted(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    with pytest.raises(InspectError, match=r"model\.onnx is an ONNX model; convert it to StableHLO with"):
        read_dump(Request((str(tmp_path / "model.onnx"),)))


@pytest.mark.parametrize("signature", ["", ":serving_default"])
def test_a_folder_of_a_saved_model_needs_tensorflow(signature: str, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(InspectError, match="is exported by tensorflow, which is not installed"):
        read_stablehlo(Request((f"{tmp_path}{signature}",)))


FILTERED = """
import jax, jax.numpy as jnp
class Filtered:
    '''A function jitted as by `equinox.filter_jit`: JAX traces the arrays, and everything else is static.'''
    def __init__(self, function): self.function = function
    def split(self, model):
        leaves, tree = jax.tree.flatten(model)
        arrays = [leaf if isinstance(leaf, jax.Array) else None for leaf in leaves]
        rest = tuple(None if isinstance(leaf, jax.Array) else leaf for leaf in leaves)
        def call(arrays, rest):
            whole = [array if value is None else value for array, value in zip(arrays, rest)]
            results = jax.tree.leaves(self.function(jax.tree.unflatten(tree, whole)))
            return [leaf for leaf in results if not callable(leaf)]
        return jax.jit(call, static_argnums=1), arrays, rest
    def __call__(self, model):
        jitted, arrays, rest = self.split(model)
        jitted(arrays, rest)
        return model
    def lower(self, model):
        jitted, arrays, rest = self.split(model)
        return jitted.lower(arrays, rest)
def step(model):
    x = model["x"].reshape(-1)
    return {**model, "x": model["activation"](x if model["flat"] else x[:1]) * model["w"]}
step = Filtered(step)
x = jax.ShapeDtypeStruct((4, 8), jnp.float32)
EXAMPLE = ({"x": x, "w": jnp.float32(2), "flat": True, "activation": jnp.tanh},)
"""


def test_a_shape_in_the_arguments_of_a_function_that_equinox_jitted_is_an_array(tmp_path: Path) -> None:
    path = tmp_path / "of_equinox.py"
    path.write_text(FILTERED, encoding="utf-8")
    # The flag and the activation stay Python values, and the result may contain the activation.
    assert "f32[32] = tanh" in read_function(Request((f"{path}:step",))).capture("cpu").jaxpr
