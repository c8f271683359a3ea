"""The exporters of installed frameworks; `scripts/ci/frameworks` runs the tests of one framework at a time.

The file's name keeps pytest from collecting it in the project's own environment, which has none of the frameworks.
"""

from __future__ import annotations

import importlib.util
import inspect
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from xla_inspect.subject import Request, Subject, read_function, read_stablehlo

if TYPE_CHECKING:
    from pathlib import Path

needs_torch, needs_keras, needs_tensorflow = (
    pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")
    for name in ("torchax", "keras", "tensorflow")
)
TORCH = """
    import torch
    class MLP(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = torch.nn.Linear(64, 256), torch.nn.BatchNorm1d(256)
        def forward(self, x, *, scale):
            return torch.relu(self.norm(self.first(x))) * scale
    mlp = MLP()
    EXAMPLE, EXAMPLE_KWARGS = (torch.ones(32, 64),), {"scale": torch.ones(256)}
    attention = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True).eval()
"""
KERAS = """
    import keras
    left, right = keras.Input((64,), name="left"), keras.Input((32,), name="right")
    both = keras.Model([left, right], keras.layers.Dense(8)(keras.layers.Concatenate()([left, right])))
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(128)
        def call(self, x):
            return keras.ops.tanh(self.first(x))
    own = Own()
"""
TENSORFLOW = """
    import tensorflow as tf
    W = tf.Variable(tf.ones((64, 128)), name="kernel")
    @tf.function
    def layer(x, b):
        y = tf.matmul(x, W)
        return tf.nn.relu(y + b)
    concrete = layer.get_concrete_function(tf.TensorSpec((None, 64), name="x"), tf.TensorSpec((128,), name="b"))
    class Net(tf.Module):
        def __init__(self):
            self.w = tf.Variable(tf.ones((64, 10)))
        @tf.function(input_signature=[tf.TensorSpec((None, 64), name="images")])
        def __call__(self, images):
            return {"classes": tf.nn.softmax(tf.matmul(images, self.w))}
    net = Net()
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int64, name="ids")])
    def embed(ids):
        return tf.gather(W, ids)
"""


def read(folder: Path, text: str, name: str, **options: object) -> Subject:
    file = folder / f"models{abs(hash(text)) % 10**9}.py"
    file.write_text(dedent(text), encoding="utf-8")
    return read_function(Request((f"{file}:{name}",), **options))  # type: ignore[arg-type]  # as named


def list_shapes(subject: Subject) -> list[tuple[int, ...]]:
    import jax

    assert subject.call is not None
    return [leaf.shape for leaf in jax.tree.leaves((subject.call.args, dict(subject.call.kwargs)))]


def list_lines(subject: Subject) -> set[int]:
    """Return the lines of the user's file in the call chains of the program, compiled for a CPU."""
    capture = subject.capture("cpu")
    return {frame.line for chain in capture.frames.values() for frame in chain if frame.file in capture.sources}


@needs_torch
def test_a_torch_module_has_its_weights_by_name_and_its_lines(tmp_path: Path) -> None:
    subject = read(tmp_path, TORCH, "mlp")
    assert subject.call is not None
    assert {"first.weight", "norm.running_mean"} < {*subject.call.args[0]}
    assert list_shapes(subject)[-2:] == [(32, 64), (256,)]
    assert list_lines(subject) == {8}


@needs_torch
def test_an_attention_block_of_torch_takes_shapes(tmp_path: Path) -> None:
    assert list_shapes(read(tmp_path, TORCH, "attention", args="f32[2,16,64]"))[-1] == (2, 16, 64)


@needs_keras
def test_a_keras_model_has_the_open_sizes_of_its_inputs(tmp_path: Path) -> None:
    subject = read(tmp_path, KERAS, "both", dims={"left.0": 4, "right.0": 4})
    assert sorted(list_shapes(subject)) == [(4, 32), (4, 64), (8,), (96, 8)]
    assert "f32[4,8]" in subject.capture("cpu").after


@needs_keras
def test_a_keras_class_is_built_for_its_arguments_and_has_its_lines(tmp_path: Path) -> None:
    assert 10 in list_lines(read(tmp_path, KERAS, "own", args="f32[4,64]"))


@needs_tensorflow
@pytest.mark.parametrize(
    ("name", "options"), [("concrete", {"dims": {"x.0": 4}}), ("layer", {"args": "f32[4,64], f32[128]"})]
)
def test_a_tensorflow_function_reads_its_variables_and_has_its_lines(
    name: str, options: dict[str, object], tmp_path: Path
) -> None:
    subject = read(tmp_path, TENSORFLOW, name, **options)
    assert list_shapes(subject) == [(4, 64), (128,), (64, 128)]
    assert {6, 7} & list_lines(subject)
    assert subject.call is not None
    function = subject.call.function.adapted  # type: ignore[attr-defined]  # a program that is compiled as it is
    assert [*inspect.signature(function).parameters] == ["x", "b", "kernel"]


@needs_tensorflow
def test_a_tensorflow_function_takes_integers_of_64_bits(tmp_path: Path) -> None:
    assert "s64[8]" in read(tmp_path, TENSORFLOW, "embed", dims={"ids.0": 8}).capture("cpu").before


@needs_tensorflow
def test_a_saved_model_of_tensorflow_is_read_from_its_folder(tmp_path: Path) -> None:
    import tensorflow as tf

    names: dict[str, object] = {}
    file = tmp_path / "net.py"
    file.write_text(dedent(TENSORFLOW), encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)  # noqa: S102
    tf.saved_model.save(names["net"], str(tmp_path / "saved"))
    subject = read_stablehlo(Request((str(tmp_path / "saved"),), dims={"images.0": 4}))
    assert subject is not None
    assert list_shapes(subject) == [(4, 64), (64, 10)]
