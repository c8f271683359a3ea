# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "flatbuffers==25.12.19",
#   "ml-dtypes==0.6.0",
#   "mpmath==1.3.0",
#   "numpy==2.5.5",
#   "onnx==1.23.2",
#   "onnxruntime-openvino==1.24.1",
#   "packaging==26.3",
#   "protobuf==7.36.2",
#   "sympy==1.14.0",
#   "typing-extensions==4.16.0",
# ]
# ///
"""How ONNX Runtime divides a graph between execution providers: OpenVINO's, which compiles, and its own for the CPU.

The provider comes with a build of ONNX Runtime of its own, which is older than the one in `onnxruntime`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

import onnx
import onnxruntime

from peers import given, models
from peers.models import node
from peers.recording import Recording

OPENVINO, CPU = "OpenVINOExecutionProvider", "CPUExecutionProvider"


def main() -> None:
    """Write the record."""
    recording = Recording("openvino")
    for program, make in models.PROGRAMS.items():
        results, ran = run(make(), given.inputs(program))
        recording.program(program, [each["operator"] for each in ran], results[0])
    whole, split = (run(divided(operator), given.inputs("layer"))[1] for operator in ("Abs", "Unique"))
    recording.facts = {
        "providers": onnxruntime.get_available_providers(),
        "divided": {"by Abs": whole, "by Unique": split},
        "without openvino": run(divided("Unique"), given.inputs("layer"), [CPU])[1],
    }
    recording.text("divided", onnx.printer.to_text(divided("Unique").graph))
    recording.write()


def divided(middle: str) -> onnx.ModelProto:
    """Return the dense layer, an operation that takes a tensor, and the gelu of what it gives.

    OpenVINO's provider knows Abs; it leaves Unique, whose result has a size of its own each time, to another.
    """
    nodes = [
        node("MatMul", "x w", "product"),
        node("Add", "product b", "sum"),
        node("Relu", "sum", "layer"),
        node(middle, "layer", "middle"),
        *models.gelu_nodes("middle", "y"),
    ]
    result = (64, 256) if middle == "Abs" else ("n",)
    return models.build("divided", nodes, shapes=given.SHAPES["layer"], result=result, constants=models.GELU)


def run(model: onnx.ModelProto, arguments: Any, providers: list[str] | None = None) -> tuple[list[Any], list[Any]]:  # noqa: ANN401
    """Run a model once with ONNX Runtime's profiler; return its results, and each node that ran, with its provider."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=providers or [OPENVINO, CPU]
        )
        results = session.run(None, arguments)
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    ran = [event["args"] for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    # The provider counts the graphs it compiled in a process.
    return results, [
        {"operator": each["op_name"].rstrip("0123456789").rstrip("_"), "provider": each["provider"]} for each in ran
    ]


if __name__ == "__main__":
    main()
