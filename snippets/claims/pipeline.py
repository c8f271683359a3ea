"""Checks of claims about the compilation stages and the passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from claims.evidence import expect, is_about, name_kernels, pass_names, program
from claims.finding import Finding, by_target, cases, only
from programs import layer
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.analysis.bundles import read_below
from xla_inspect.compilation import disassemble
from xla_inspect.plural import plural
from xla_inspect.report import title

if TYPE_CHECKING:
    from xla_inspect import Capture

FUSING = ("fusion", "priority-fusion", "tpu_fusion")
"""The name of the fusion pass on CPU, GPU and TPU."""

DONATING = "optimize_input_output_buffer_alias"
"""The pass that determines which results may use the memory of donated arguments."""


def compiles_for() -> Finding:
    """Return the finding on the claim that XLA compiles for CPU, GPU and TPU."""

    def look(capture: Capture) -> tuple[bool, str]:
        return capture.module.is_scheduled and bool(list_kernels(capture)), name_kernels(capture)

    return by_target(program("layer"), look)


def jit_is_xla() -> Finding:
    """Return the finding on the claim that `jax.jit` compiles through XLA."""
    stage = jax.jit(lambda x: x + 1).lower(1.0).compile()
    text = stage.as_text() or ""
    return only(text.startswith("HloModule"), f"the executable prints as `{text.partition(',')[0]}`")


def hlo_comes_last() -> Finding:
    """Return the finding on the claim that optimizations produce HLO, and that the program is not HLO before them."""

    def look(capture: Capture) -> tuple[bool, str]:
        return capture.after.startswith("HloModule") and bool(capture.code), "HLO, then code"

    captures = program("layer")
    first = [capture.before.startswith("HloModule") for capture in captures.values()]
    evidence = f"{sum(first)} of {len(first)} compilers already begin with HLO"
    return by_target(captures, look).but(not any(first), evidence)


def backend_code() -> Finding:
    """Return the finding on the claim that each backend prints its own code: LLVM IR, PTX and SASS, or TPU code."""
    captures = program("layer")
    cpu, gpu = captures["cpu"], captures["h100"]
    sass = disassemble(gpu)
    bundles, kernels = count_bundles()
    return cases(
        {
            "cpu": ("llvm" in _languages(cpu), _name(cpu)),
            "h100": ("ptx" in _languages(gpu) and bool(sass), f"{_name(gpu)}; SASS of {plural(len(sass), 'kernel')}"),
            "tpu-v5e": (bundles > 0, f"{plural(bundles, 'bundle')} of {plural(kernels, 'kernel')}"),
        }
    )


def count_bundles() -> tuple[int, int]:
    """Return the number of bundles in the layer's TPU kernels, as libtpu dumps them, and the number of kernels.

    Raises:
        TargetUnavailableError: libtpu is not installed.
    """
    # Bundles are only dumped on request, so the layer is compiled once more.
    machine = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)
    sizes = [kernel.size for kernel in read_below(machine) if kernel.is_kernel]
    return sum(sizes), len(sizes)


def llvm_everywhere() -> Finding:
    """Return the finding on the claim that compilation ends in LLVM IR."""

    def look(capture: Capture) -> tuple[bool, str]:
        return "llvm" in _languages(capture), _name(capture)

    expect(count_bundles()[0] > 0, "libtpu generates its own instructions")
    return by_target(program("layer"), look)


def ptx_route() -> Finding:
    """Return the finding on the claim that LLVM IR becomes PTX on a GPU, and that the PTX is assembled."""
    capture = program("layer")["h100"]
    languages = _languages(capture)
    sass = disassemble(capture)
    evidence = f"{_name(capture)}; `ptxas` assembles {plural(len(sass), 'kernel')}"
    return cases({"h100": ({"llvm", "ptx"} <= languages and len(sass) == len(list_kernels(capture)), evidence)})


def two_backends() -> Finding:
    """Return the finding on the claim that the only ways to code are LLVM to PTX and LLVM to CPU code."""
    expected = {"cpu": {"llvm", "asm"}, "h100": {"llvm", "ptx"}}
    captures = program("layer")
    finding = cases(
        {
            target: (languages <= _languages(captures[target]), _name(captures[target]))
            for target, languages in expected.items()
        }
    )
    others = "triton" in _languages(captures["h100"]) or bool(list_kernels(captures["tpu-v5e"]))
    return finding.but(not others, "the H100's matmul goes through Triton first, and the TPU has its own compiler")


def _languages(capture: Capture) -> set[str]:
    return {code.language for code in capture.code}


def _name(capture: Capture) -> str:
    names = {"triton": "Triton IR", "llvm": "LLVM IR", "asm": "assembly", "ptx": "PTX", "hlo": "scheduled HLO"}
    return ", ".join(name for key, name in names.items() if key in _languages(capture))


def number_of_passes(claimed: int) -> Finding:
    """Return the finding, by target, on the claimed number of different passes."""

    def look(capture: Capture) -> tuple[bool, str]:
        names = pass_names(capture)
        changes = sum(run.changed for run in capture.runs)
        different = f"{len(set(names))} different passes in {len(names)} runs"
        evidence = f"{different}; {changes} runs reported a change of the module"
        return is_about(len(set(names)), claimed), evidence

    captures = program("layer")
    for target in captures.targets:
        runs = captures[target].runs
        names = {run.name for run in runs}
        expect(target == "cpu" or len(names) > 1.5 * claimed, "H100 and TPU have far more passes")
        expect(len(runs) > len(names), "many passes run more than once")
        expect(sum(run.changed for run in runs) < len(runs) / 10, "few runs change anything")
    return by_target(captures, look)


def passes_are_shared() -> Finding:
    """Return the finding on the claim that all targets run the same passes."""
    captures = program("layer")
    shared = set[str].intersection(*(set(pass_names(captures[target])) for target in captures.targets))

    def look(capture: Capture) -> tuple[bool, str]:
        names = set(pass_names(capture))
        expect(len(shared) < len(names) / 2, "the target shares only a small part of its passes with both others")
        return names == shared, f"{len(shared)} of its {len(names)} passes run on all three targets"

    own = {target: len(set(pass_names(captures[target])) - shared) for target in captures.targets}
    return by_target(captures, look).compared("passes that do not run on all three targets", 0, own)


def passes_independent_of_hardware() -> Finding:
    """Return the finding on the claim that HLO optimizations are the same on all hardware."""
    captures = program("layer")
    names = [set(pass_names(captures[target])) for target in captures.targets]
    shared, every = set[str].intersection(*names), set[str].union(*names)
    expect(len(shared) < len(every) / 2, "most passes run on one or two targets")
    return cases(
        {
            "passes on all three targets": (bool(shared), f"{len(shared)} names"),
            "passes on one or two targets": (shared == every, f"{len(every) - len(shared)} names"),
        }
    )


def same_optimizations() -> Finding:
    """Return the finding on the claim that CPU and GPU run the same optimizations."""
    captures = program("layer")
    cpu, gpu = captures["cpu"], captures["h100"]
    same = set(pass_names(cpu)) == set(pass_names(gpu)) and name_kernels(cpu) == name_kernels(gpu)
    own = {
        target: len(set(pass_names(one)) - set(pass_names(other)))
        for target, one, other in (("cpu", cpu, gpu), ("h100", gpu, cpu))
    }
    return only(same, ", ".join(f"{number} passes run only on the {title(target)}" for target, number in own.items()))


def usual_passes() -> Finding:
    """Return the finding on the claim that CSE, algebraic simplification and fusion are passes."""
    last_fusing: list[str] = []

    def look(capture: Capture) -> tuple[bool, str]:
        names = set(pass_names(capture))
        fusing = [name for name in FUSING if name in names]
        last_fusing.append(fusing[-1] if fusing else "")
        return {"cse", "algsimp"} <= names and bool(fusing), f"`cse`, `algsimp`, `{fusing[-1] if fusing else 'none'}`"

    finding = by_target(program("layer"), look)
    expect(len(set(last_fusing)) == len(finding.cases), "the fusion pass has a different name on each target")
    return finding


def memory_planned_by_a_pass() -> Finding:
    """Return the finding on the claim that an optimization pass plans the memory."""

    def look(capture: Capture) -> tuple[bool, str]:
        return "allocation 0" in capture.buffers, f"{capture.buffers.count('allocation ')} allocations"

    captures = program("layer")
    assigning = [run.name for capture in captures.values() for run in capture.runs if "buffer-assign" in run.name]
    donating = [target for target in captures.targets if DONATING in pass_names(captures[target])]
    expect(len(donating) == len(captures.targets), f"{DONATING} runs on each target")
    scheduled = all(capture.module.is_scheduled for capture in captures.values())
    return by_target(captures, look).but(
        bool(assigning) or not scheduled, "no pass assigns buffers: XLA assigns them to the scheduled module"
    )


def builds_on_mlir() -> Finding:
    """Return the finding on the claim that XLA's input is MLIR, and that XLA generates code through MLIR."""
    captures = program("layer")
    # MLIR parses only dialects that are registered in the context, and this function registers them.
    with mlir.make_ir_context():
        module = ir.Module.parse(captures["cpu"].stablehlo)
        verified = module.operation.verify()
        expect(_is_rejected(captures["cpu"].before), "HLO is not MLIR")
    # The operations of Triton's dialect begin with `tt.`.
    triton = any("tt." in code.text for code in captures["h100"].code if code.language == "triton")
    return only(verified and triton, "MLIR's parser accepts the StableHLO, and the H100's Triton IR is also MLIR")


def _is_rejected(text: str) -> bool:
    """Return True if MLIR's parser rejects a text."""
    try:
        ir.Module.parse(text)
    except ir.MLIRError:
        return True
    return False
