# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "flatbuffers==25.12.19",
#   "ml-dtypes==0.6.0",
#   "numpy==2.5.5",
#   "onnx==1.23.2",
#   "onnxruntime==1.32.0",
#   "packaging==26.3",
#   "protobuf==7.36.2",
#   "typing-extensions==4.16.0",
# ]
# ///
"""What ONNX Runtime does with the four programs: the graph after each level, and patterns that just miss."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

import numpy as np
import onnx
import onnxruntime

from peers import given, models
from peers.models import node
from peers.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS = {
    "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
"""What a session may be told to do, each level with the ones above it."""

GELU_NODES = models.gelu_nodes("x", "y")
TIMES_ROOT = [node("Mul", "x root", "x_scaled"), *GELU_NODES[1:]]
TANH_NODES = [
    node("Mul", "x x", "square"),
    node("Mul", "square x", "cube"),
    node("Mul", "cube cubic", "bent"),
    node("Add", "x bent", "inner"),
    node("Mul", "inner slope", "steep"),
    node("Tanh", "steep", "tanh"),
    node("Add", "tanh one", "shifted"),
    node("Mul", "x shifted", "product"),
    node("Mul", "product half", "y"),
]
TANH = {"cubic": 0.044715, "slope": math.sqrt(2 / math.pi), "one": 1.0, "half": 0.5}

GELUS: dict[str, tuple[list[onnx.NodeProto], Mapping[str, float]]] = {
    "x / sqrt(2)": (GELU_NODES, models.GELU),
    "x / 1.4142": (GELU_NODES, {**models.GELU, "root": 1.4142}),
    "x / 1.41": (GELU_NODES, {**models.GELU, "root": 1.41}),
    "x * sqrt(1/2)": (TIMES_ROOT, {**models.GELU, "root": math.sqrt(0.5)}),
    "with tanh": (TANH_NODES, TANH),
}
"""A gelu written in several ways: what is in its error function, to the operations and the constants."""

SQUARES = {
    "pow(d, 2)": (node("Pow", "deviation two", "square"), {"two": 2.0}),
    "d * d": (node("Mul", "deviation deviation", "square"), {}),
}
"""A layer norm written in two ways: how the deviation is squared, to the operation and its constants."""

NORM_SHAPES = {name: given.SHAPES["mlp_block"][name] for name in ("x", "scale", "shift")}


def main() -> None:
    """Write the record."""
    recording = Recording("onnxruntime")
    recording.facts["nodes"] = {}
    for program, make in models.PROGRAMS.items():
        graphs = {}
        for level in LEVELS:
            session, graphs[level] = optimize(make(), level)
            recording.text(f"{program}/{level}", show(graphs[level]))
        recording.program(program, operators(graphs["all"]), session.run(None, given.inputs(program))[0])
        recording.facts["nodes"][program] = {level: len(graph.graph.node) for level, graph in graphs.items()}
    recording.facts["gelus"] = {name: match_gelu(recording, name) for name in GELUS}
    recording.facts["layer norms"] = {name: operators(optimize(norm(name), "all")[1]) for name in SQUARES}
    recording.facts["softmaxes"] = {
        "one operator": operators(optimize(models.classify(), "all")[1]),
        "written out": operators(optimize(softmax(), "all")[1]),
    }
    recording.facts["providers"] = {
        "in this package": onnxruntime.get_available_providers(),
        "known": onnxruntime.get_all_providers(),
    }
    recording.write()


def optimize(model: onnx.ModelProto, level: str) -> tuple[Any, onnx.ModelProto]:
    """Return a session for a model, and the model as that session runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.optimized_model_filepath = str(path)
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # at `all` it warns that the saved model is for this hardware
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session, onnx.load(path)


def show(model: onnx.ModelProto) -> str:
    """Return the graph of a model as text, without the versions of the operators above it."""
    text: str = onnx.printer.to_text(model.graph)
    return text


def operators(model: onnx.ModelProto) -> list[str]:
    """Return the operators that a model runs, in order; those of Microsoft's own set with its domain."""
    return [f"{each.domain}.{each.op_type}".lstrip(".") for each in model.graph.node]


def match_gelu(recording: Recording, name: str) -> dict[str, Any]:
    """Return what becomes of one way of writing a gelu, and whether its results are the exact gelu's."""
    nodes, constants = GELUS[name]
    shapes = given.SHAPES["gelu"]
    model = models.build("gelu", nodes, shapes=shapes, result=shapes["x"], constants=constants)
    session, optimized = optimize(model, "all")
    plain, _ = optimize(model, "disabled")
    recording.text(f"gelu {name}/all", show(optimized))
    arguments = given.inputs("gelu")
    now, before = (each.run(None, arguments)[0] for each in (session, plain))
    return {
        "operators": operators(optimized),
        "is the exact gelu": bool(np.abs(before - given.results("gelu")).max() < given.BOUND),
        "is what was written": bool(np.abs(now - before).max() < given.BOUND),
    }


def norm(name: str) -> onnx.ModelProto:
    """Return a layer norm that is written out."""
    square, constants = SQUARES[name]
    nodes = [
        onnx.helper.make_node("ReduceMean", ["x"], ["mean"], axes=[-1]),
        node("Sub", "x mean", "deviation"),
        square,
        onnx.helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        node("Add", "variance epsilon", "positive"),
        node("Sqrt", "positive", "root"),
        node("Div", "deviation root", "normal"),
        node("Mul", "normal scale", "scaled"),
        node("Add", "scaled shift", "y"),
    ]
    constants = {**constants, "epsilon": given.EPSILON}
    return models.build("layernorm", nodes, shapes=NORM_SHAPES, result=NORM_SHAPES["x"], constants=constants)


def softmax() -> onnx.ModelProto:
    """Return the classifier with its softmax written out, as JAX writes it."""
    nodes = [
        node("MatMul", "x w", "product"),
        onnx.helper.make_node("ReduceMax", ["product"], ["most"], axes=[-1]),
        node("Sub", "product most", "shifted"),
        node("Exp", "shifted", "raised"),
        onnx.helper.make_node("ReduceSum", ["raised", "axis"], ["sum"]),
        node("Div", "raised sum", "y"),
    ]
    model = models.classify()
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1]), "axis"))
    return model


if __name__ == "__main__":
    main()
