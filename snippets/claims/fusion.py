"""Checks of claims about fusion: the number of kernels, their kinds, and the basis of the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from claims.evidence import expect, name_kernels, program
from claims.finding import Finding, answers, by_target, cases, only
from claims.running import eager_and_jitted
from programs import fusible, transformer_block
from xla_inspect import capture
from xla_inspect.analysis import list_fusions, list_kernels, parse_log
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, title
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import FusionLog


def _one_kernel(captures: Captures) -> Finding:
    """Return the finding, by target, on the claim that a program is one kernel."""

    def look(capture: Capture) -> tuple[bool, str]:
        return len(list_kernels(capture)) == 1, name_kernels(capture)

    kernels = {target: len(list_kernels(captures[target])) for target in captures.targets}
    return by_target(captures, look).compared("kernels", 1, kernels)


def layer_is_one_kernel() -> Finding:
    """Return the finding on the claim that a matmul, a bias and a relu become one kernel."""
    return _one_kernel(program("layer"))


def scaled_softmax_is_one_kernel() -> Finding:
    """Return the finding on the claim that a scale and a softmax become one kernel."""
    function, _ = fusible.PROGRAMS["scale and softmax"]
    long = capture(function, jax.ShapeDtypeStruct((8, 65536), jnp.float32), target="h100")
    expect(len(list_kernels(long)) > 1, "on the H100, it is one kernel only if a row fits")
    return _one_kernel(program("fusible", "scale and softmax"))


def normalize_is_one_kernel() -> Finding:
    """Return the finding on the claim that (x - mean) / std becomes one kernel."""
    return _one_kernel(program("fusible", "(x - mean) / std"))


def loop_fusion() -> Finding:
    """Return the finding on the claim that two element-wise operations become one loop fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        return [kernel.fusion_kind for kernel in list_kernels(capture)] == ["kLoop"], name_kernels(capture)

    return by_target(program("fusible", "x * 2 + 1"), look)


def input_fusion() -> Finding:
    """Return the finding on the claim that a producer is fused into a reduction as an input fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        fusions = [fusion for fusion in list_fusions(capture.module) if {"multiply", "reduce"} <= set(fusion.opcodes)]
        return any(fusion.kind == "kInput" for fusion in fusions), name_kernels(capture)

    return by_target(program("fusible", "scale and sum rows"), look)


def output_fusion() -> Finding:
    """Return the finding on the claim that the operations after a matmul are fused into it as an output fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        number = len(list_kernels(capture))
        expect(number == (1 if capture.target == "tpu-v5e" else 2), f"{capture.target} launches {number} kernels")
        return any(kernel.fusion_kind == "kOutput" for kernel in list_kernels(capture)), name_kernels(capture)

    return by_target(program("disputed", "relu(x @ w) + b"), look)


def reduction_takes_its_consumer() -> Finding:
    """Return the finding on the claim that the consumer of a reduction is fused into an input fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        fusions = [fusion for fusion in list_fusions(capture.module) if fusion.kind == "kInput"]
        # Only the operations after the reduction can use its result.
        has_consumer = any("multiply" in fusion.opcodes[fusion.opcodes.index("reduce") :] for fusion in fusions)
        if capture.target == "h100":
            kinds = [kernel.fusion_kind for kernel in list_kernels(capture)]
            expect(
                kinds == ["kInput", "kLoop"], f"the multiplication should be a separate kernel; the kernels are {kinds}"
            )
        return has_consumer, name_kernels(capture)

    return by_target(program("disputed", "sum(x) * scale"), look)


def scatter_is_output_fusion() -> Finding:
    """Return the finding on the claim that a scatter becomes an output fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        kinds = [fusion.kind for fusion in list_fusions(capture.module) if "scatter" in fusion.opcodes]
        expect("kOutput" not in kinds, "no target's scatter has that kind")
        return "kOutput" in kinds, f"`{'`, `'.join(kinds)}`" if kinds else "the scatter is not fused"

    expect(output_fusion().cases["tpu-v5e"].holds is True, "on the TPU, a matmul creates a fusion of this kind")
    return by_target(program("disputed", "scatter"), look)


def cost_decides() -> Finding:
    """Return the finding on the claim that fusion depends on estimated savings."""
    estimates = [estimate for name in ("layer", "attention") for estimate in _log(name).estimates]
    return cases({"h100": (bool(estimates), f"its log compares two time estimates in {len(estimates)} places")})


def _log(name: str) -> FusionLog:
    return parse_log(program(name)["h100"].fusion_log)


def rules_decide() -> Finding:
    """Return the finding on the claim that fusion follows rules, without a cost estimate."""
    logs = {
        target: read_reasons(
            capture(
                transformer_block.transformer_block,
                *transformer_block.EXAMPLE,
                target=target,
                reasons=True,
            )
        ).of("fusion")
        for target in USUAL
    }
    has_refusals = [any(reason.verdict == "refused" for reason in log) for log in logs.values()]
    expect(all(has_refusals), "rules forbid fusions on each target")
    in_cycles = [target for target, log in logs.items() if any("fused_cycles" in reason.words for reason in log)]
    expect(in_cycles == ["tpu-v5e"], "the TPU's log contains estimates in cycles, and the CPU's log contains none")
    log = _log("transformer_block")
    ruled, weighed = {refusal.producer for refusal in log.refusals}, {estimate.producer for estimate in log.estimates}
    reasons = len({refusal.reason for refusal in log.refusals})
    return cases(
        {
            "fusions that a rule forbids": (
                bool(ruled),
                f"not fused on the H100, for {plural(reasons, 'different reason')}",
            ),
            "other fusions": (not weighed, f"{plural(len(log.estimates), 'time estimate')} in the H100's log"),
        }
    )


def attention_answers() -> Finding:
    """Return the finding with the number of kernels of self-attention on each target, as the answer to a question."""
    captures = program("attention")
    return answers({target: plural(len(list_kernels(captures[target])), "kernel") for target in captures.targets})


def intermediate_bytes(claimed: int) -> Finding:
    """Return the finding on the claimed number of KiB that are moved unnecessarily without fusion."""
    module = program("layer")["cpu"].unoptimized_module
    large = module.entry.root.shape.bytes
    between = [i for i in module.walk() if i.opcode in {"dot", "add"} and i.shape.bytes == large]
    size = sum(instruction.shape.bytes for instruction in between)
    # Each intermediate is written once, and read once by each of its users.
    moved = sum(instruction.shape.bytes * (1 + len(module.users(instruction))) for instruction in between)
    return only(size == claimed * 1024, f"two intermediates of {large:,} bytes each").but(
        moved == claimed * 1024, f"each is written and read again: {moved:,} bytes"
    )


def all_in_registers() -> Finding:
    """Return the finding on the claim that no intermediate passes through memory after fusion."""
    captures, moves = program("layer"), dict[str, int]()

    def look(capture: Capture) -> tuple[bool, str]:
        kernels = list_kernels(capture)
        # The last kernel writes the result of the program, which is no intermediate.
        between = [capture.module.entry.by_name[kernel.name].shape for kernel in kernels[:-1]]
        moved = moves[capture.target] = sum(shape.bytes for shape in between)
        if capture.target == "h100":
            expect(
                moved > capture.module.entry.root.shape.bytes,
                "the parts need more memory than the matmul's result would",
            )
        return (
            not moved,
            f"{format_bytes(moved)} between kernels: {', '.join(f'`{shape.plain}`' for shape in between)}"
            if moved
            else "nothing between kernels",
        )

    return by_target(captures, look).compared("bytes", 0, moves)


def reshapes_are_fused() -> Finding:
    """Return the finding on the claim that broadcasts and reshapes are fused like any other operation."""

    def look(capture: Capture) -> tuple[bool, str]:
        inside = [opcode for fusion in list_fusions(capture.module) for opcode in fusion.opcodes]
        return "broadcast" in inside, f"{plural(inside.count('broadcast'), '`broadcast`')} inside fusions"

    alone = program("rewrites", "x.reshape(...).reshape(...)")
    entries = {
        title(target): [i.opcode for i in alone[target].module.entry if i.opcode != "parameter"]
        for target in alone.targets
    }
    # A copy that a target adds says nothing about the reshape itself.
    results = [next(op for op in opcodes if op != "copy") for opcodes in entries.values()]
    expect(results == ["bitcast", "bitcast", "reshape"], f"a reshape alone becomes {results}")
    became = ", ".join(f"`{' '.join(opcodes)}` on the {name}" for name, opcodes in entries.items())
    return by_target(program("layer"), look).but(
        all("fusion" in opcodes for opcodes in entries.values()), f"a reshape alone becomes {became}"
    )


def element_wise_is_fused() -> Finding:
    """Return the finding on the claim that a formula of element-wise operations becomes one kernel automatically."""
    return _one_kernel(program("disputed", "sin(x) * 2 + cos(x)"))


def unfused_kernels(claimed: int, between: int) -> Finding:
    """Return the finding on the claimed numbers of kernels and of intermediates of a layer without fusion."""
    names, _ = eager_and_jitted()
    evidence = f"in eager mode, JAX compiles `{'`, `'.join(names)}`"
    return only((len(names), len(names) - 1) == (claimed, between), evidence)
