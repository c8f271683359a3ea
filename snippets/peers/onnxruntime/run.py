# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "flatbuffers==25.12.19",
#   "ml-dtypes==0.6.0",
#   "numpy==2.5.5",
#   "onnx==1.23.2",
#   "onnxruntime==1.31.1",
#   "packaging==26.3",
#   "protobuf==7.36.2",
#   "typing-extensions==4.16.0",
# ]
# ///
"""What ONNX Runtime does with the four programs: the graph after each level, near misses, and execution providers."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

import onnx
import onnxruntime as ort

from peers import given, models
from peers.recording import Recording

LEVELS = {
    "disabled": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def main() -> None:
    """Write the record."""
    recording = Recording("onnxruntime")
    for program, make in models.PROGRAMS.items():
        model = make()
        for level in LEVELS:
            session, graph = optimize(model, level)
            recording.text(f"{program}/{level}", onnx.printer.to_text(graph))
        recording.program(
            program, [each.op_type for each in graph.graph.node], session.run(None, given.inputs(program))[0]
        )
    recording.write()


def optimize(model: onnx.ModelProto, level: str) -> tuple[ort.InferenceSession, onnx.ModelProto]:
    """Return a session for a model, and the model as that session runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        options = ort.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.optimized_model_filepath = str(path)
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # at `all` it warns that the saved model is for this hardware
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session, onnx.load(path)


if __name__ == "__main__":
    main()
