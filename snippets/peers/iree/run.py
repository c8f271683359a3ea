# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "iree-base-compiler==3.13.0",
#   "iree-base-runtime==3.13.0",
#   "ml-dtypes==0.6.0",
#   "mpmath==1.3.0",
#   "numpy==2.5.5",
#   "sympy==1.14.0",
# ]
# ///
"""What IREE does with the StableHLO that JAX exports: dispatches by phase, the modules it writes, other targets."""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from iree import compiler, runtime

from peers import given, stablehlo
from peers.assembly import inner_loop
from peers.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

# A processor that every x86-64 machine is, so that all write the same code.
GENERIC = ["--iree-llvmcpu-target-cpu=generic", "--iree-llvmcpu-debug-symbols=false"]
PHASES = {
    "input": None,  # nothing is grouped yet
    "global-optimization": None,
    "dispatch-creation": r"= flow\.dispatch\.workgroups\b",
    "flow": r"= flow\.dispatch @",
    "stream": r"\bstream\.cmd\.dispatch @",
    "hal": r"\bhal\.command_buffer\.dispatch<",
}
"""The phases that are recorded, each with how a dispatch is spelled after it."""

SHOWN = [
    *((program, "flow") for program in given.SHAPES),
    *(("classify", phase) for phase in ("input", "global-optimization", "dispatch-creation")),
    ("layer", "stream"),
]
"""The texts that are recorded: program and phase."""

TARGETS = {
    "cuda a100": ["--iree-cuda-target=a100"],
    "cuda sm_90": ["--iree-cuda-target=sm_90"],
    "rocm gfx942": ["--iree-rocm-target=gfx942"],
    "vulkan-spirv ampere": ["--iree-vulkan-target=ampere"],
    "metal-spirv": [],
}
"""Targets that no device here has, each with the option that names one."""

FOR_TARGETS = ("layer", "mlp_block")


@dataclass(frozen=True)
class Compiled:
    """What IREE made of one program.

    Attributes:
        module: What the runtime loads.
        phases: Phase to the module as text after it.
        assembly: The generated code, where the target is the CPU.
    """

    module: bytes
    phases: dict[str, str]
    assembly: str


def main() -> None:
    """Write the record."""
    recording = Recording("iree")
    compiled = {program: build(program) for program in given.SHAPES}
    for program, made in compiled.items():
        result = load(made.module)(*given.inputs(program).values()).to_host()
        recording.program(program, names(made.phases["flow"]), result)
    for program, phase in SHOWN:
        recording.text(f"{program}/{phase}", compiled[program].phases[phase])
    recording.text("layer/loop", inner_loop(compiled["layer"].assembly))
    any_rows = build("layer_any_rows")
    recording.text("layer_any_rows/flow", any_rows.phases["flow"])
    recording.facts = {
        "phases": {
            program: {phase: count(made.phases[phase], how) for phase, how in PHASES.items()}
            for program, made in compiled.items()
        },
        "vmfb bytes": {program: len(made.module) for program, made in compiled.items()},
        "any rows": {
            "ran with": given.check_rows(lambda *arrays: load(any_rows.module)(*arrays).to_host()),
            "kernels": names(any_rows.phases["flow"]),
            "vmfb bytes": len(any_rows.module),
        },
        "targets": {target: elsewhere(target) for target in TARGETS},
        "known targets": sorted(compiler.query_available_targets()),
        "known drivers": sorted(runtime.query_available_drivers()),
        "installed MB": {name: megabytes(name) for name in ("iree-base-compiler", "iree-base-runtime")},
    }
    recording.write()


def build(program: str, target: str = "llvm-cpu", options: Sequence[str] = GENERIC) -> Compiled:
    """Compile the StableHLO that JAX exported of a program, once, keeping what IREE can print on the way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printing = ["--mlir-print-debuginfo=false", f"--dump-compilation-phases-to={folder}"]
        if target == "llvm-cpu":
            printing.append(f"--iree-hal-dump-executable-intermediates-to={folder}")
        module: bytes = compiler.compile_str(
            stablehlo.read(program), target_backends=[target], input_type="stablehlo", extra_args=[*options, *printing]
        )
        # Files are named as in jit_layer.6.flow.mlir.
        phases = {path.stem.split(".")[2]: path.read_text(encoding="utf-8") for path in folder.glob("*.mlir")}
        assembly = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.s"))
    return Compiled(module, phases, assembly)


def load(module: bytes) -> Any:  # noqa: ANN401 - its functions are known when it is loaded
    """Return the function of a module, run by the thread that calls it."""
    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    loaded = runtime.VmModule.copy_buffer(context.instance, module)
    context.add_vm_module(loaded)
    return context.modules[loaded.name]["main"]


def names(flow: str) -> list[str]:
    """Return the names of the dispatches of a module after the phase `flow`, in order."""
    return re.findall(r"= flow\.dispatch @\w+::@(\w+)", flow)


def count(text: str, dispatch: str | None) -> dict[str, int]:
    """Return how many operations on tensors, of them softmaxes, and how many dispatches a text holds."""
    operations = re.findall(r"\blinalg\.(?!yield\b|index\b)(\w+)", text)
    dispatches = len(re.findall(dispatch, text)) if dispatch else 0
    return {"operations": len(operations), "softmax": operations.count("softmax"), "dispatches": dispatches}


def elsewhere(target: str) -> dict[str, Any]:
    """Compile programs for a target that is not here; return dispatches and sizes, or why IREE refuses."""
    found: dict[str, Any] = {}
    for program in FOR_TARGETS:
        try:
            compiled = build(program, target.partition(" ")[0], TARGETS[target])
        except compiler.CompilerToolError as error:
            return {"refused": re.findall(r"error: (.*)", str(error))[0]}
        found[program] = {"dispatches": len(names(compiled.phases["flow"])), "vmfb bytes": len(compiled.module)}
    return found


def megabytes(package: str) -> int:
    """Return what an installed package takes on disk, in whole megabytes."""
    files = [path for path in metadata.files(package) or [] if path.suffix != ".pyc"]
    return round(sum(Path(str(path.locate())).stat().st_size for path in files) / 1e6)


if __name__ == "__main__":
    main()
