# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "apache-tvm==0.27.0.post1",
#   "apache-tvm-ffi==0.1.14.post0", # with 0.1.15, tune.py crashes
#   "jax==0.12.0.1",
#   "jaxlib==0.12.0.1", # the importer of StableHLO reads it with this
#   "ml-dtypes==0.6.0",
#   "numpy==2.5.5",
#   "onnx==1.23.2",
#   "opt-einsum==3.4.0",
#   "protobuf==7.36.2",
#   "scipy==1.18.1",
#   "typing-extensions==4.16.0",
# ]
# [tool.peers]
# needs = ["g++"]
# ///
"""What TVM does with the four programs: Relax pass by pass, memory, any batch, a tuned schedule, the runtime alone."""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend.stablehlo import from_stablehlo

from peers import given, models, stablehlo
from peers.assembly import inner_loop, is_multiplication
from peers.recording import Recording, run_child
from peers.tvm import relaxing, schedule

# A processor that every x86-64 machine is, so that all write the same code.
GENERIC = {"kind": "llvm", "mcpu": "x86-64", "mtriple": "x86_64-unknown-linux-gnu"}
KERNEL = "fused_matmul_add_relu"


def main() -> None:
    """Write the record."""
    recording = Recording("tvm")
    facts = recording.facts
    facts["launches"], facts["patterns"] = {}, {}
    for program, make in models.PROGRAMS.items():
        imported = relaxing.load(make())
        passes = relaxing.follow(imported)
        fused = passes["DeadCodeElimination"]
        facts["launches"][program] = {name: len(relaxing.launches(module)) for name, module in passes.items()}
        facts["patterns"][program] = relaxing.patterns(passes["AnnotateTIROpPattern"])
        recording.program(program, relaxing.launches(fused), run(build(fused), *given.inputs(program).values()))
        recording.text(f"{program}/imported", relaxing.show(imported))
        recording.text(f"{program}/FuseTIR", relaxing.show(fused))
        if program == "layer":
            recording.text("layer/LegalizeOps", relaxing.show(passes["LegalizeOps"]))
            recording.text("layer/FuseOps", relaxing.show_main(passes["FuseOps"]))
        if program == "mlp_block":
            facts["memory"] = plan(recording, passes)
    facts["any rows"] = any_rows(recording)
    facts["tuned"] = tuned(recording)
    facts["exported"] = export()
    facts["stablehlo"] = {program: from_jax(program) for program in given.SHAPES}
    recording.write()


def build(module: Any, target: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - TVM has no types
    """Compile a module."""
    return tvm.compile(module, target=tvm.target.Target(target or GENERIC))


def run(executable: Any, *arguments: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Run the `main` of a compiled module."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return np.asarray(machine["main"](*map(tvm.runtime.tensor, arguments)).numpy())


def plan(recording: Recording, passes: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Record the memory plan of the block, as its operations are legalized and as they are fused."""
    found = {}
    for name, module in {"unfused": passes["AnnotateTIROpPattern"], "fused": passes["DeadCodeElimination"]}.items():
        text, found[name] = relaxing.plan(module)
        recording.text(f"mlp_block/planned {name}", text)
    return found


def any_rows(recording: Recording) -> dict[str, Any]:
    """Compile the layer once for any number of rows, and run it for several; and with a shape that does not fit.

    Raises:
        given.WrongResultError: A result is not that of the reference, or a wrong shape is accepted.
    """
    model = models.layer()
    for tensor in (model.graph.input[0], model.graph.output[0]):
        tensor.type.tensor_type.shape.dim[0].dim_param = "n"
    fused = relaxing.follow(relaxing.load(model))["DeadCodeElimination"]
    recording.text("layer_any_rows/FuseTIR", relaxing.show(fused))
    executable = build(fused)
    x, *weights = given.inputs("layer").values()
    ran = given.check_rows(partial(run, executable))
    try:
        run(executable, x[:, 1:], *weights)
    except RuntimeError as error:
        return {"ran with": ran, "kernels": relaxing.launches(fused), "refused": str(error)}
    message = "layer_any_rows: columns that do not fit were accepted"
    raise given.WrongResultError(message)


def tuned(recording: Recording) -> dict[str, Any]:
    """Apply the stored schedule to the layer's kernel, run it, and record what became of its loops."""
    fused = relaxing.fuse("layer")
    plain = fused[KERNEL].with_attr("global_symbol", "main")
    scheduled = tvm.s_tir.Schedule(tvm.IRModule({"main": plain}))
    schedule.apply_trace(scheduled)
    kernel = scheduled.mod["main"]
    recording.text("layer/tuned", kernel.script(show_meta=False))
    loops = {}
    for name, function in {"untuned": plain, "tuned": kernel}.items():
        loops[name] = inner_loop(tvm.compile(function, target=tvm.target.Target(GENERIC)).mod.inspect_source("asm"))
        recording.text(f"layer/{name} loop", loops[name])
    given.check("layer", run(build(replace_kernel(fused, kernel)), *given.inputs("layer").values()))
    counts = {name: sum(map(is_multiplication, loop.splitlines())) for name, loop in loops.items()}
    return {"trials": schedule.TRIALS, "multiplications in the inner loop": counts}


def replace_kernel(module: Any, kernel: Any) -> Any:  # noqa: ANN401
    """Return the fused layer with another kernel for the same computation."""
    changed = tvm.IRModule(dict(module.functions_items()))
    changed[KERNEL] = kernel.without_attr("global_symbol")
    return changed


def export() -> dict[str, Any]:
    """Write the compiled layer as a shared library, and run it in a process that loads the runtime alone."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "layer.so"
        build(relaxing.fuse("layer")).export_library(str(library))
        script = Path(__file__).with_name("alone.py")
        ended = run_child(sys.executable, script, library, TVM_USE_RUNTIME_LIB="1")
    libraries = Path(tvm.__file__).parent / "lib"
    sizes = {path.stem: round(path.stat().st_size / 1e6, 1) for path in sorted(libraries.glob("libtvm_*.so"))}
    return {**json.loads(ended.stdout), "MB of each library": sizes}


def from_jax(program: str) -> str:
    """Return what TVM's importer of StableHLO makes of what this JAX exports: the kernels, or the error."""
    try:
        module = from_stablehlo(stablehlo.read(program))
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        return f"{type(error).__name__}: {error}"
    return ", ".join(relaxing.launches(relaxing.follow(module)["DeadCodeElimination"]))


if __name__ == "__main__":
    main()
