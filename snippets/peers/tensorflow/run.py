# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "absl-py==2.5.1",
#   "astunparse==1.6.3",
#   "certifi==2026.10.18",
#   "charset-normalizer==3.5.2",
#   "flatbuffers==25.12.19",
#   "gast==0.7.0",
#   "google-pasta==0.2.0",
#   "grpcio==1.85.1",
#   "h5py==3.14.0",
#   "idna==3.20",
#   "keras==3.15.1",
#   "libclang==18.1.1",
#   "markdown-it-py==4.3.0",
#   "mdurl==0.1.2",
#   "ml-dtypes==0.6.0",
#   "namex==0.1.0",
#   "numpy==2.5.5",
#   "opt-einsum==3.4.0",
#   "optree==0.20.0",
#   "packaging==26.3",
#   "protobuf==7.36.2",
#   "pygments==2.21.0",
#   "requests==2.34.2",
#   "rich==15.0.0",
#   "setuptools==84.2.1",
#   "six==1.17.0",
#   "tensorflow-cpu==2.21.0",
#   "termcolor==3.3.0",
#   "typing-extensions==4.16.0",
#   "urllib3==2.8.0",
#   "wheel==0.48.0",
#   "wrapt==2.5.2",
# ]
# ///
"""What TensorFlow does with the four programs: without XLA, compiled by it, in clusters, and ahead of time."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

# TensorFlow asks for oneDNN's kernels by the kind of CPU it finds: here it is told to, as it does on recent ones.
os.environ.update(TF_ENABLE_ONEDNN_OPTS="1", TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")
os.environ["XLA_FLAGS"] = f"--xla_dump_hlo_as_text --xla_dump_to={tempfile.mkdtemp()}"

import tensorflow as tf

from peers import given
from peers.recording import Recording, run_child
from peers.tensorflow import clustered, executed, layers

DUMPS = Path(os.environ["XLA_FLAGS"].partition("--xla_dump_to=")[2])
HERE = Path(__file__).resolve().parent
STAGES = ("stablehlo", "hlo", "optimized_hlo")
ACCESSOR = re.compile(
    r"float& ((?:arg_feed|result_fetch)_\w+)\([^)]*\) \{\s+return \(\*static_cast<float\(\*\)([\[\]\d]+)>"
)
TRIPLE = "x86_64-unknown-linux-gnu"

# What differs from run to run, or says nothing: numbers of functions, and places in TensorFlow's own source.
LOCATIONS = {
    r"(?m)^#loc.*\n": "",
    r' loc\((?:#loc\d*|"[^"]*")\)': "",
    r", metadata=\{[^}]*\}": "",
    r"a_inference_(\w+?)_\d+__(?:\.\d+)?": r"\1",
}
MESSAGE = {
    r"__inference_(\w+?)_\d+": r"__inference_\1",
    r"\[_XlaMustCompile=[^\]]*\]": "[...]",
    r"(?s)\nThe op is created at:.*?(?=\n\t)": "",
    r" \[Op:__inference_\w+\]": "",
}


def main() -> None:
    """Write the record."""
    # As many threads on any machine, whatever it has.
    tf.config.threading.set_inter_op_parallelism_threads(8)
    tf.config.threading.set_intra_op_parallelism_threads(8)
    recording = Recording("tensorflow")
    recording.facts.update(eager={}, grappler={}, jit={}, auto={}, clusters={}, any_size={})
    for program in layers.PROGRAMS:
        without_xla(recording, program)
        compiled(recording, program)
    clusters(recording)
    recording.facts["onednn_off"] = child("bare.py", {"TF_ENABLE_ONEDNN_OPTS": "0"})[0]
    recording.facts["shapes"] = count_compiles()
    refused(recording)
    bounded(recording)
    ahead_of_time(recording)
    recording.write()


def without_xla(recording: Recording, program: str) -> None:
    """Record a program eagerly, as a graph, and what Grappler and oneDNN made of that graph."""
    arguments, facts = layers.arguments(program), recording.facts
    eager = layers.PROGRAMS[program]
    eager(*arguments)
    facts["eager"][program] = executed.watch(eager, arguments).operations
    function = tf.function(eager)
    optimized, placed = executed.graphs(function, arguments)
    facts["grappler"][program] = executed.computing(optimized)
    recording.text(
        f"{program}/grappler", "\n".join(describe(node) for node in optimized if node.op not in executed.PLUMBING)
    )
    call = executed.watch(function, arguments, [node.name for node in placed])
    recording.program(program, call.operations, function(*arguments).numpy())


def describe(node: tf.compat.v1.NodeDef) -> str:
    """Return a node as a line: its operation, its operands, and what Grappler put into it."""
    fused = [each.decode() for each in node.attr["fused_ops"].list.s] if "fused_ops" in node.attr else []
    operands = ", ".join(each for each in node.input if not each.startswith("^"))
    return f"{node.name} = {node.op}({operands})" + (f" fused_ops={fused}" if fused else "")


def compiled(recording: Recording, program: str) -> None:
    """Record a program under `jit_compile=True`: what is executed, and its HLO by stage."""
    arguments = layers.arguments(program)
    function = tf.function(layers.PROGRAMS[program], jit_compile=True)
    given.check(program, function(*arguments))
    recording.facts["jit"][program] = executed.watch(function, arguments, []).facts()
    text = function.experimental_get_compiler_ir(*arguments)
    for stage in STAGES if program == "layer" else STAGES[-1:]:
        asked = "hlo_no_metadata" if stage == "hlo" else stage
        recording.text(f"{program}/{stage}", text(stage=asked), LOCATIONS)


def clusters(recording: Recording) -> None:
    """Record what TensorFlow hands to XLA by itself and what it keeps, and softmax with clusters of any size."""
    called, log = child("clustered.py", clustered.FLAGS)
    decided = clustered.list_clusters(log)
    for name, call in called.items():
        result = call.pop("result")
        if name in given.SHAPES:
            given.check(name, result)
        recording.facts["auto"][name] = {part: call[part] for part in ("operations", "launches")}
        recording.facts["clusters"][name] = decided[name]
    flags = {**clustered.FLAGS, "TF_XLA_FLAGS": f"{clustered.FLAGS['TF_XLA_FLAGS']} --tf_xla_min_cluster_size=1"}
    for name, call in child("clustered.py", flags, "classify")[0].items():
        recording.facts["any_size"][name] = {part: call[part] for part in ("operations", "launches")}


def child(script: str, variables: dict[str, str], *names: str) -> tuple[dict[str, Any], str]:
    """Run a script beside this one with other environment variables; return what it wrote, and its log."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        ended = run_child(
            sys.executable, HERE / script, answer, *names, folder=folder, **{"XLA_FLAGS": "", **variables}
        )
        return dict(json.loads(answer.read_text(encoding="utf-8"))), ended.stderr


def count_compiles() -> dict[str, list[int]]:
    """Return how often a function with an unknown batch size is traced, and how often XLA compiles it, by call."""
    traces = 0

    def layer(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        nonlocal traces
        traces += 1
        return layers.layer(x, w, b)

    signature = [tf.TensorSpec((None, 128)), tf.TensorSpec((128, 256)), tf.TensorSpec((256,))]
    function = tf.function(layer, jit_compile=True, input_signature=signature)
    sizes, traced, compiles = [64, 7, 64, 1, 7], [], []
    x, w, b = layers.arguments("layer")
    for size in sizes:
        before, earlier = count_modules(), traces
        function(x[:size], w, b)
        traced.append(traces - earlier)
        compiles.append(count_modules() - before)
    return {"sizes": sizes, "traces": traced, "compiles": compiles}


def count_modules() -> int:
    """Return how many modules XLA has dumped so far."""
    return len(list(DUMPS.glob("*before_optimizations.txt")))


def refused(recording: Recording) -> None:
    """Record the messages for what XLA cannot compile, and for a stage that there is not."""

    def sort_rows(x: tf.Tensor) -> tf.Tensor:
        return tf.py_function(layers.on_the_host, [x], tf.float32)

    (x,) = layers.arguments("gelu")
    try:
        tf.function(sort_rows, jit_compile=True)(x)
    except tf.errors.InvalidArgumentError as error:
        recording.text("refused/py_function", error.message, MESSAGE)
    function = tf.function(layers.gelu, jit_compile=True)
    try:
        function.experimental_get_compiler_ir(x)(stage="llvm")
    except ValueError as error:
        recording.text("refused/stage", str(error), MESSAGE)
    try:
        function.experimental_get_compiler_ir(tf.TensorSpec((None, 8)))(stage="hlo")
    except ValueError as error:
        recording.text("refused/shape", str(error), MESSAGE)


def bounded(recording: Recording) -> None:
    """Record a result whose size depends on the data: JAX refuses it, TensorFlow's bridge gives XLA an upper bound."""

    def positive(x: tf.Tensor) -> tf.Tensor:
        return tf.boolean_mask(x, x > 0)

    (x,) = layers.arguments("gelu")
    function = tf.function(positive, jit_compile=True)
    recording.text("boolean_mask/hlo", function.experimental_get_compiler_ir(x)(stage="hlo_no_metadata"), LOCATIONS)
    recording.facts["boolean_mask"] = {
        "shape": list(function(x).shape),
        "positive": int(tf.reduce_sum(tf.cast(x > 0, tf.int32))),
    }


def ahead_of_time(recording: Recording) -> None:
    """Record what `saved_model_cli aot_compile_cpu` writes for the layer."""
    specification = [tf.TensorSpec(shape) for shape in given.SHAPES["layer"].values()]
    module = tf.Module()
    module.serve = tf.function(lambda x, w, b: {"y": layers.layer(x, w, b)}, input_signature=specification)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, f"{folder}/model", signatures={"serving_default": module.serve})
        client = Path(sys.executable).with_name("saved_model_cli")
        options = ["--dir", "model", "--tag_set", "serve", "--signature_def_key", "serving_default"]
        written = ["--output_prefix", "compiled/layer", "--cpp_class", "Layer", "--target_triple", TRIPLE]
        run_child(client, "aot_compile_cpu", *options, *written, folder=folder, XLA_FLAGS="")
        compiled = Path(folder) / "compiled"
        header = (compiled / "layer.h").read_text(encoding="utf-8")
        recording.facts["ahead_of_time"] = {
            "command": ["saved_model_cli", "aot_compile_cpu", *options, *written],
            "bytes": {file.name: file.stat().st_size for file in sorted(compiled.iterdir())},
            "arguments": dict(sorted(ACCESSOR.findall(header))),
        }
        # Positional arguments come in another order each time, so the rest of the header is no record.
        recording.text(
            "layer/header", "\n".join(re.findall(r"(?m)^#include.*|^extern \"C\" \{\n(?:.*\n)*?^\}", header))
        )


if __name__ == "__main__":
    main()
