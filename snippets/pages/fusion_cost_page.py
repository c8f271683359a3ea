"""Tables and checks of the chapter on fusion: libraries, the logs of the passes, the attention block, and costs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pages.fusion_page import TARGETS, Programs, count_bytes, count_launches, find_decision
from pages.fusion_stops_page import FUSION_PASSES
from programs import conv_step, fusible, layer, softmax
from xla_inspect import Capture, capture
from xla_inspect.analysis import find_launch, list_fusions, list_kernels, list_origins, main_memory_bytes
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Captures

YNNPACK = {"xla_cpu_experimental_ynn_fusion_type": ""}
# The compilations with something switched off: each has a program, a target, the name of the switch, and its options.
SWITCHES: dict[str, tuple[str, str, str, dict[str, bool | str]]] = {
    "softmax in loops": ("softmax", "cpu", "YNNPACK", {**YNNPACK}),
    "plain dot": ("layer", "cpu", "YNNPACK", {**YNNPACK}),
    "cuBLAS": ("layer", "h100", "Triton's matmuls", {"xla_gpu_enable_triton_gemm": False}),
    "softmax without Triton": (
        "softmax",
        "h100",
        "Triton's softmax",
        {"xla_disable_hlo_passes": "triton-softmax-rewriter"},
    ),
    "relu apart": (
        "convolution and relu",
        "h100",
        "cuDNN's relu",
        {"xla_disable_hlo_passes": "cudnn-fused-convolution-rewriter"},
    ),
    "own convolution": ("convolution and relu", "h100", "cuDNN", {"xla_disable_hlo_passes": "conv-rewriter"}),
}
COUNTS: dict[str, Callable[[Capture], int]] = {
    "fusions before the passes": lambda found: found.unoptimized_module.opcode_counts()["fusion"],
    "computations with `fused_computation` in their names": lambda found: len(
        re.findall(r"^%\S*fused_computation\S* \(", found.after, re.MULTILINE)
    ),
    "fusion instructions in all computations": lambda found: found.module.opcode_counts()["fusion"],
    "fusion instructions in `ENTRY`": lambda found: len(list_fusions(found.module, entry_only=True)),
    "kernels": count_launches,
}
FIELDS = {
    "flops": "arithmetic operations on floating-point numbers, without the transcendental functions",
    "transcendentals": "evaluations of exp, log, tanh, erf and similar functions",
    "bytes accessed": "the sum of the bytes that each kernel reads and writes",
    "bytes accessed0{}": "the part of these bytes that is operand 0 of an instruction; 1{} is operand 1",
    "bytes accessedout{}": "the part of these bytes that is a result",
    "utilization0{}": "the number of uses of operand 0, summed over the instructions; meaningless for a whole program",
    "optimal_seconds": "the TPU compiler's estimate of the time",
}


def compile_switched() -> dict[str, Capture]:
    """Compile the programs of `SWITCHES`, each with a library or a pass switched off; return the captures by name."""
    functions: dict[str, tuple[Callable[..., Any], tuple[object, ...]]] = {
        "softmax": (softmax.softmax, softmax.EXAMPLE),
        "layer": (layer.layer, layer.EXAMPLE),
        "convolution and relu": fusible.PROGRAMS["convolution"],
    }
    return {
        name: capture(functions[program][0], *functions[program][1], target=target, options=options)
        for name, (program, target, _, options) in SWITCHES.items()
    }


def show_switched(switched: Mapping[str, Capture], usual: Programs) -> str:
    """Return an HTML table of the kernels of programs, compiled as usual and with a library or pass switched off."""
    rows = []
    for name, (program, target, switch, _) in SWITCHES.items():
        before = _list_emitters(usual[program][target]) + (f" {markdown.by_model()}" if name == "cuBLAS" else "")
        rows.append((f"{program}, {target.upper()}", before, switch, _list_emitters(switched[name])))
    return markdown.cards(["program, target", "usual kernels", "switched off", "kernels without it"], rows)


def _list_emitters(program: Capture) -> str:
    fusions = {fusion.name: fusion for fusion in list_fusions(program.module, entry_only=True)}
    emitters = []
    for kernel in list_kernels(program):
        fusion = fusions.get(kernel.name)
        library = kernel.instruction.custom_call_target or kernel.kind
        emitters.append((fusion.custom_kind or fusion.kind) if fusion else library)
    return "<br>".join(map(markdown.code, emitters))


def check_switched(switched: Mapping[str, Capture], usual: Programs, programs: Programs) -> None:
    """Assert the kernels of each program with a library or pass switched off, and the kernels of the TPU."""
    soft, convolution = usual["softmax"]["cpu"], usual["convolution and relu"]
    loops, dot, blas, looped, plain, own = (switched[name] for name in SWITCHES)
    libraries = [
        {fusion.custom_kind for fusion in list_fusions(program.module)} - {None, ""} for program in (soft, loops)
    ]
    assert libraries == [{"__ynn_fusion"}, set()]
    assert count_launches(loops) > count_launches(soft)
    assert "dot" in [kernel.kind for kernel in list_kernels(dot)]
    assert [launch.instruction.custom_call_target for launch in list_kernels(blas)] == ["__cublas$lt$matmul"]
    assert '"epilogue":"BIAS_RELU"' in blas.after
    assert not any("__cublas" in program["h100"].after for program in programs.values())
    assert [kernel.fusion_kind for kernel in list_kernels(looped)].count("kInput") == 2
    assert "__cudnn$convBiasActivationForward" in convolution["h100"].after
    assert '"activation_mode":"kRelu"' in convolution["h100"].after
    assert list_kernels(plain)[-1].fusion_kind == "kLoop"
    assert "__cudnn$convForward" in plain.after
    assert "__cudnn" not in own.after
    assert [kernel.fusion_kind for kernel in list_kernels(own)] == ["kLoop", "kLoop"]
    for program in (*programs.values(), convolution):
        assert "custom-call" not in [kernel.kind for kernel in list_kernels(program["tpu-v5e"])]
        products = [fusion for fusion in list_fusions(program["tpu-v5e"].module) if "convolution" in fusion.opcodes]
        assert {fusion.kind for fusion in products} <= {"kOutput"}


def check_logs(programs: Programs, columns: Captures) -> None:
    """Assert that CPU and TPU log no fusion estimates, and which pass decides about a sum over scaled columns."""
    for program in programs.values():
        assert program["cpu"].fusion_log == program["tpu-v5e"].fusion_log == ()
    apart = find_decision(columns["h100"], "costs-when-fused")
    assert (apart.pass_name, apart.verdict) == ("priority-fusion", "refused")
    library = find_decision(columns["cpu"], "library-takes-operand", "mul")
    assert (library.pass_name, library.verdict) == ("dot-library-rewriter", "done")
    fused = [
        (decision.pass_name, decision.verdict)
        for decision in read_reasons(columns["tpu-v5e"]).of("fusion")
        if decision.kind == "fused" and any(name.startswith("reduce") for name in decision.others)
    ]
    assert fused[:1] == [("tpu_fusion", "done")]
    for name in ("softmax", "(x - mean) / std"):
        for target in ("cpu", "tpu-v5e"):
            assert {decision.verdict for decision in read_reasons(programs[name][target]).of("fusion")} >= {
                "done",
                "refused",
            }


def check_counts(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Assert that there is no fusion before the passes, and one in ENTRY for each kernel after them.

    Args:
        counts: By the label of an entry of `COUNTS`, its counts by target.
    """
    before, by_name, anywhere, in_entry, kernels = counts.values()
    assert set(before.values()) == {0}
    assert in_entry == kernels
    assert not any(by_name[target] == kernels[target] for target in TARGETS)
    assert [anywhere[target] for target in ("cpu", "h100")] == [in_entry[target] for target in ("cpu", "h100")]
    assert anywhere["tpu-v5e"] > 2 * in_entry["tpu-v5e"]
    assert len(set(kernels.values())) == 3


def check_graphs(heads: Captures) -> None:
    """Assert the kinds and contents of the kernels of the attention block, for each target."""
    on_cpu, on_gpu, on_tpu = (list_fusions(heads[target].module, entry_only=True) for target in TARGETS)
    kinds = Counter(fusion.custom_kind or fusion.kind for fusion in on_cpu)
    assert kinds == {"__ynn_fusion": 6, "kLoop": 5}
    assert kinds["__ynn_fusion"] == heads["cpu"].unoptimized_module.opcode_counts()["dot"]
    loops = [
        origin.expression
        for launch in list_kernels(heads["cpu"])
        if launch.fusion_kind == "kLoop"
        for origin in list_origins(heads["cpu"], launch.instruction)
    ]
    assert sum("softmax" in expression for expression in loops) == len(loops) - 1
    assert "sqrt" in loops[0]

    merged = find_decision(heads["h100"], "dots-merged")
    assert (merged.pass_name, merged.verdict) == ("dot-merger", "done")
    joined = heads["h100"].module.entry.by_name["gemm_fusion_dot.5"]
    assert joined.shape.dimensions == (32, 3 * 64)
    assert "concatenate" in {instruction.opcode for instruction in heads["h100"].module.called(joined)[0]}
    assert len(list_slices(heads["h100"])) == 3
    assert [fusion.opcodes.count("reduce") for fusion in on_gpu if fusion.custom_kind == "__triton"] == [2]
    assert sum({"dot", "multiply"} <= set(fusion.opcodes) for fusion in on_gpu) == 1

    assert count_launches(heads["tpu-v5e"]) == 4
    opcodes = [Counter(fusion.opcodes) for fusion in on_tpu]
    assert sorted(counts["convolution"] for counts in opcodes) == [0, 1, 2, 3]
    most = next(counts for counts in opcodes if counts["convolution"] == 3)
    assert most["reduce"] == most["multiply"] == 1
    last = opcodes[-1]
    assert (last["exponential"], last["divide"], last["convolution"]) == (1, 1, 2)


def list_slices(program: Capture) -> list[str]:
    """Return the names of the fusions that only slice an array."""
    return [fusion.name for fusion in list_fusions(program.module) if fusion.opcodes == ("bitcast", "slice")]


def check_lines(heads: Captures) -> None:
    """Assert that only one of the joined projections keeps its line on the H100.

    Also assert the number of kernels with an exponential on each target.
    """
    kernels = list_kernels(heads["h100"])
    lines = {origin.expression for kernel in kernels for origin in list_origins(heads["h100"], kernel.instruction)}
    assert "x @ wq" in lines
    assert not lines & {"x @ wk", "x @ wv"}
    exponentials = []
    for target in TARGETS:
        module = heads[target].module
        launches = [
            find_launch(module, instruction) for instruction in module.walk() if instruction.opcode == "exponential"
        ]
        exponentials.append(len({launch.name for launch in launches if launch}))
    assert exponentials == [1, 1, 2]


def show_fields(soft: Captures) -> str:
    """Return a table of three cost fields of softmax, and a folded table of all its fields with their meanings."""

    def format_field(target: str, name: str) -> str:
        number = soft[target].cost.details.get(name)
        return "" if number is None else f"{number:,.0f}" if number == int(number) else f"{number:.2g}"

    first = [(markdown.code(name), *(format_field(target, name) for target in TARGETS)) for name in list(FIELDS)[:3]]
    every = [
        (
            markdown.code(name),
            *(format_field(target, name) or "missing" for target in TARGETS),
            markdown.escape(meaning),
        )
        for name, meaning in FIELDS.items()
    ]
    titles = list(map(title, TARGETS))
    more = markdown.fold("All fields and their meanings", markdown.cards(["field", *titles, "meaning"], every))
    return f"{markdown.table(['softmax', *titles], first, numbers=(1, 2, 3))}\n{more}"


def check_costs(soft: Captures, by_hand: int, cells: int) -> None:
    """Assert by how much the costs of softmax on each target differ from those computed by hand.

    Args:
        soft: The captures of softmax.
        by_hand: The number of arithmetic operations.
        cells: The number of elements.
    """
    rows = softmax.EXAMPLE[0].shape[0]
    costs = [(soft[target].cost.flops, soft[target].cost.source) for target in TARGETS]
    assert costs == [
        (by_hand + rows, "executable"),
        (by_hand, "jaxlib HLO cost analysis"),
        (by_hand + cells, "executable"),
    ]
    assert [soft[target].cost.transcendentals for target in ("h100", "tpu-v5e")] == [cells, 2 * cells]
    assert soft["h100"].cost.bytes_accessed == 2 * cells * 4
    assert [
        instruction.shape.dimensions for instruction in soft["cpu"].module.walk() if instruction.opcode == "divide"
    ] == [(rows,)]
    others = {"bytes accessed1{}", "bytes accessed2{}", "utilization1{}", "utilization2{}"}
    for program in soft.values():
        assert set(program.cost.details) <= {*FIELDS, *others}


def check_bytes(programs: Programs, blas: Capture) -> None:
    """Assert the cost analysis's bytes relative to those of the kernels, and that a library call has no known costs."""
    for name in ("relu(x @ w + b)", "softmax", "layer norm", "gelu"):
        for target in ("cpu", "h100"):
            assert programs[name][target].cost.bytes_accessed == count_bytes(programs[name][target])
        timed = [target for target in TARGETS if "optimal_seconds" in programs[name][target].cost.details]
        assert timed == ["tpu-v5e"]
    heads, dense = programs["attention"]["h100"], programs["relu(x @ w + b)"]["tpu-v5e"]
    assert heads.cost.bytes_accessed > 1.1 * count_bytes(heads)
    assert len(list_slices(heads)) == 3
    assert dense.cost.bytes_accessed > 3 * main_memory_bytes(dense.module)
    # XLA's cost analysis does not look into library calls, and reports -1 for unknown costs.
    assert blas.cost.flops == blas.cost.bytes_accessed == -1


def check_claims(programs: Programs) -> None:
    """Assert the central operations of the TPU's kOutput fusions, and that layouts are assigned before fusion."""
    windows = capture(conv_step.conv_step, *conv_step.EXAMPLE, target="tpu-v5e")
    around = {
        next((name for name in ("convolution", "reduce-window") if name in fusion.opcodes), "else")
        for fusion in list_fusions(windows.module)
        if fusion.kind == "kOutput"
    }
    assert around == {"convolution", "reduce-window"}
    for program in (program for captures in programs.values() for program in captures.values()):
        names = [run.name for run in program.runs]
        assert names.index("layout-assignment") < names.index(FUSION_PASSES[program.target])
