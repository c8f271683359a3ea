"""Claims about fusion: how many kernels, of which kind, and who decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.evidence import count, kernels, name_kernels, program
from claims.finding import Finding, answers, by_target, cases, only
from claims.running import eager_and_jitted
from xla_inspect.hlo.fusions import list_fusions
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from xla_inspect import Capture, Captures


def _one_kernel(captures: Captures) -> Finding:
    """Whether each target launches one kernel."""

    def look(capture: Capture) -> tuple[bool, str]:
        return len(kernels(capture)) == 1, name_kernels(capture)

    return by_target(captures, look)


def layer_is_one_kernel() -> Finding:
    """A product, a bias and a relu are one kernel."""
    return _one_kernel(program("layer"))


def scaled_softmax_is_one_kernel() -> Finding:
    """A scale and a softmax are one kernel."""
    return _one_kernel(program("fusible", "scale and softmax"))


def normalize_is_one_kernel() -> Finding:
    """(x - mean) / std is one kernel."""
    return _one_kernel(program("fusible", "(x - mean) / std"))


def loop_fusion() -> Finding:
    """Two element-wise operations become one loop fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        return [kernel.fusion_kind for kernel in kernels(capture)] == ["kLoop"], name_kernels(capture)

    return by_target(program("fusible", "x * 2 + 1"), look)


def input_fusion() -> Finding:
    """A producer is fused into a reduction as an input fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        fusions = [fusion for fusion in list_fusions(capture.module) if {"multiply", "reduce"} <= set(fusion.opcodes)]
        return any(fusion.kind == "kInput" for fusion in fusions), name_kernels(capture)

    return by_target(program("fusible", "scale and sum rows"), look)


def output_fusion() -> Finding:
    """What follows a matrix product is fused into it as an output fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        return any(kernel.fusion_kind == "kOutput" for kernel in kernels(capture)), name_kernels(capture)

    return by_target(program("disputed", "relu(x @ w) + b"), look)


def reduction_takes_its_consumer() -> Finding:
    """What uses the result of a reduction is fused into an input fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        fusions = [fusion for fusion in list_fusions(capture.module) if fusion.kind == "kInput"]
        taken = any("multiply" in fusion.opcodes[fusion.opcodes.index("reduce") :] for fusion in fusions)
        return taken, name_kernels(capture)

    return by_target(program("disputed", "sum(x) * scale"), look)


def scatter_is_output_fusion() -> Finding:
    """A scatter makes an output fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        kinds = [fusion.kind for fusion in list_fusions(capture.module) if "scatter" in fusion.opcodes]
        return "kOutput" in kinds, f"`{'`, `'.join(kinds)}`" if kinds else "the scatter is not fused"

    return by_target(program("disputed", "scatter"), look)


def cost_decides() -> Finding:
    """What is fused depends on what it is estimated to save."""
    log = program("layer")["h100"].fusion_log + program("attention")["h100"].fusion_log
    estimates = [line for line in log if " us fused, " in line and line.endswith(" us apart")]
    return cases({"h100": (bool(estimates), f"its log compares two times in {len(estimates)} places")})


def rules_decide() -> Finding:
    """Fusion goes by rules, without an estimate of cost."""

    def look(capture: Capture) -> tuple[bool, str]:
        estimates = sum(" us fused, " in line for line in capture.fusion_log)
        return not estimates, f"{count(estimates, 'estimate')} in its log" if estimates else "prints no estimate"

    return by_target(program("attention"), look)


def attention_answers() -> Finding:
    """How many kernels is self-attention?"""
    captures = program("attention")
    return answers({target: count(len(kernels(captures[target])), "kernel") for target in captures.targets})


def simulated_kernels(said: int) -> Finding:
    """A simulation that returns a number is right about what is launched."""
    captures = program("layer")
    right = {target: len(kernels(captures[target])) == said for target in captures.targets}
    return only(any(right.values()), f"the number is right on {sum(right.values())} of {len(right)} targets").but(
        all(right.values()), "it is written down and not counted, so it is the same for every program"
    )


def intermediate_bytes(said: int) -> Finding:
    """Without fusion so many KiB are moved in vain."""
    module = program("layer")["cpu"].unoptimized_module
    large = module.entry.root.shape.bytes
    between = [i for i in module.walk() if i.opcode in {"dot", "add"} and i.shape.bytes == large]
    size = sum(instruction.shape.bytes for instruction in between)
    moved = sum(instruction.shape.bytes * (1 + len(module.users(instruction))) for instruction in between)
    return only(size == said * 1024, f"two intermediates of {large:,} bytes each").but(
        moved == said * 1024, f"each is written and read again: {moved:,} bytes"
    )


def all_in_registers() -> Finding:
    """After fusion no intermediate goes through memory."""

    def look(capture: Capture) -> tuple[bool, str]:
        launched = kernels(capture)
        between = [capture.module.entry.by_name[kernel.name].shape for kernel in launched[:-1]]
        moved = sum(shape.bytes for shape in between)
        return (
            not moved,
            f"{moved:,} bytes between kernels: {', '.join(f'`{shape.plain}`' for shape in between)}"
            if moved
            else "nothing between kernels",
        )

    return by_target(program("layer"), look)


def reshapes_are_fused() -> Finding:
    """Broadcasts and reshapes are fused like any other operation."""

    def look(capture: Capture) -> tuple[bool, str]:
        inside = [opcode for fusion in list_fusions(capture.module) for opcode in fusion.opcodes]
        return "broadcast" in inside, f"{count(inside.count('broadcast'), '`broadcast`')} inside fusions"

    alone = program("rewrites", "x.reshape(...).reshape(...)")
    entries = {
        title(target): [i.opcode for i in alone[target].module.entry if i.opcode != "parameter"]
        for target in alone.targets
    }
    became = ", ".join(f"`{' '.join(opcodes)}` on the {name}" for name, opcodes in entries.items())
    return by_target(program("layer"), look).but(
        all("fusion" in opcodes for opcodes in entries.values()), f"a reshape by itself becomes {became}"
    )


def element_wise_is_fused() -> Finding:
    """A formula of element-wise operations becomes one kernel by itself."""
    return _one_kernel(program("disputed", "sin(x) * 2 + cos(x)"))


def unfused_kernels(said: int, between: int) -> Finding:
    """Without fusion a layer is so many kernels, with so many intermediates between them."""
    names, _ = eager_and_jitted()
    return only((len(names), len(names) - 1) == (said, between), f"run eagerly, it compiles `{'`, `'.join(names)}`")
