"""Tables and checks of the chapter on fusion: stopped and forced fusions, and kernels with several results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from chapters import quote_reasons
from pages.fusion_page import TARGETS, Programs, count_launches, find_decision, list_counts
from programs import forced
from xla_inspect import Capture, capture, capture_all
from xla_inspect.analysis import list_fusions, list_kernels, main_memory_bytes
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Captures

type Stops = Mapping[str, tuple[str, Captures]]
type Requests = Mapping[str, Mapping[str, Capture | str]]

FUSION_PASSES = {"cpu": "fusion", "h100": "priority-fusion", "tpu-v5e": "tpu_fusion"}
# The quoted decisions: the program, the target, the kind of decision, and the beginning of its instruction's name.
QUOTED = (
    ("a barrier", "h100", "gpu-producer-not-fusible", "optimization_barrier"),
    ("a barrier", "cpu", "not-a-loop", "optimization_barrier"),
    ("a barrier", "tpu-v5e", "tpu-not-a-loop", "optimization_barrier"),
    ("a sort", "cpu", "not-a-loop", "sort"),
    ("a sort", "h100", "gpu-producer-not-fusible", ""),
    ("a sort", "tpu-v5e", "tpu-tuple", "sort"),
    ("a reduction over everything", "cpu", "not-a-loop", "ynn_fusion"),
    ("a reduction over everything", "tpu-v5e", "tpu-scalar", "reduce"),
    ("the matmul's own kernel", "h100", "gpu-producer-not-fusible", "gemm_fusion"),
)
UNQUOTED = (
    ("several users", "h100", "costs-when-fused", "exp"),
    ("the cost model", "h100", "costs-when-fused", "fusion"),
)
SHORT_NAMES = {"cpu": "CPU", "h100": "H100", "tpu-v5e": "TPU"}

FORCED = {
    "nothing": ("exp(x) * 2", "no request"),
    "barrier": ("exp(x) * 2", "`optimization_barrier` between `exp` and `* 2`"),
    "limit on the first": ("exp(x) * 2", "`fuse_limit()` around `exp`"),
    "limit on the second": ("exp(x) * 2", "`fuse_limit()` around `* 2`"),
    "two arrays": ("sin(x), cos(y)", "no request"),
    "two arrays, must fuse": ("sin(x), cos(y)", "`must_fuse_call`"),
    "softmax, must fuse": ("softmax(x)", "`must_fuse_call`"),
}
"""For each program of `programs.forced`, by name: its expression, and the request to fuse or not to fuse."""


def show_stops(stops: Stops) -> str:
    """Return a Markdown table of the number of kernels of each program with an obstacle to fusion, by target.

    Args:
        stops: The program's call and its captures, by obstacle.
    """
    rows = [
        (f"<b>{reason}</b><br>{markdown.code(call)}", *map(str, list_counts(captures)))
        for reason, (call, captures) in stops.items()
    ]
    return markdown.table(["obstacle and program", *map(title, TARGETS)], rows, numbers=(1, 2, 3))


def show_stop_reasons(stops: Stops, soft: Captures) -> str:
    """Return a fold with the compilers' logged reasons against the fusions, by obstacle and target."""
    whole, users = (stops[name][1]["h100"] for name in ("a reduction over everything", "several users"))
    reasons = {
        "A reduction over everything, on the H100": find_decision(whole, "reduction-split"),
        "Several users, on the H100": find_decision(users, "costs-when-fused", "exp"),
    }
    for name, target, kind, about in QUOTED:
        # Quotes are shown in the order of the dictionary, and the CPU's quote belongs before that of the H100.
        if name == "the matmul's own kernel":
            reasons["A library's kernel, on the CPU"] = find_decision(soft["cpu"], "not-a-loop", "ynn_fusion")
        reasons[f"{name.capitalize()}, on the {SHORT_NAMES[target]}"] = find_decision(
            stops[name][1][target], kind, about
        )
    return markdown.fold("The compilers' reasons", quote_reasons(reasons))


def check_stops(stops: Stops) -> None:
    """Assert the number of kernels of programs with an obstacle to fusion, and which pass refuses the fusion."""
    assert list_counts(stops["a barrier"][1]) == [2, 2, 2]
    assert min(list_counts(stops["a sort"][1])) >= 3
    split = find_decision(stops["a reduction over everything"][1]["h100"], "reduction-split")
    assert (split.verdict, split.pass_name) == ("done", "tree-reduction-rewriter")
    for name, target, kind, about in (*QUOTED, *UNQUOTED):
        decision = find_decision(stops[name][1][target], kind, about)
        assert (decision.verdict, decision.pass_name) == ("refused", FUSION_PASSES[target])
    closed = find_decision(stops["a barrier"][1]["tpu-v5e"], "tpu-without-words", "exp")
    assert "Not allowed at:" in closed.words
    assert list_counts(stops["the cost model"][1]) == [1, 2, 1]
    steps = stops["the matmul's own kernel"][1]["cpu"].passes
    at = next(number for number, step in enumerate(steps) if step.name == "fusion")
    for step in steps[at - 1 : at + 1]:
        library = [fusion for fusion in list_fusions(step.module) if fusion.custom_kind == "__ynn_fusion"]
        assert [fusion.opcodes for fusion in library] == [("dot",)]


def check_users(users: Capture) -> None:
    """Assert that the H100 computes an exponential with several users once more in the matmul's kernel."""
    assert len(find_decision(users, "costs-when-fused", "exp").others) == 2
    into = find_decision(users, "operand-into-triton-dot", "exp")
    assert (into.pass_name, into.verdict) == ("triton-gemm-rewriter", "done")
    product = next(fusion for fusion in list_fusions(users.module) if "dot" in fusion.opcodes)
    assert product.opcodes == ("exponential", "dot")
    passes = [run.name for run in users.runs]
    assert passes.index("triton-gemm-rewriter") < passes.index("priority-fusion")


def check_shape_changes(joint: Captures, programs: Programs) -> None:
    """Assert that CPU and H100 keep no reshape, and no broadcast in ENTRY, and fuse a concatenation."""
    for target in ("cpu", "h100"):
        (fusion,) = list_fusions(joint[target].module)
        assert set(fusion.opcodes) >= {"exponential", "sine", "concatenate", "multiply"}
        for captures in programs.values():
            assert "reshape" not in captures[target].module.opcode_counts()
            assert "broadcast" not in captures[target].module.opcode_counts(entry_only=True)
    assert count_launches(joint["tpu-v5e"]) > 1


def compile_forced() -> dict[str, dict[str, Capture | str]]:
    """Compile the programs of `programs.forced`; return captures, or messages of errors, by program and target."""

    def compile_one(name: str, target: str) -> Capture | str:
        function, example = forced.PROGRAMS[name]
        try:
            return capture(function, *example, target=target)
        except jax.errors.JaxRuntimeError as error:
            return str(error)

    return {name: {target: compile_one(name, target) for target in TARGETS} for name in forced.PROGRAMS}


def count_requested(requests: Requests, name: str) -> dict[str, int | str]:
    """Return the number of kernels of one forced program by target, or the error message where compilation failed."""
    programs = requests[name]
    return {
        target: program if isinstance(program, str) else count_launches(program) for target, program in programs.items()
    }


def show_requests(requests: Requests) -> str:
    """Return a Markdown table of the number of kernels for each request of `FORCED`, by target."""
    rows = []
    for name, (call, request) in FORCED.items():
        counts = count_requested(requests, name).values()
        marked = re.sub("`([^`]*)`", lambda match: markdown.code(match[1]), request)
        rows.append((markdown.code(call), marked, *("error" if isinstance(n, str) else str(n) for n in counts)))
    return markdown.table(["program", "request", *map(title, TARGETS)], rows, numbers=(2, 3, 4))


def count_main_bytes(requests: Requests, name: str) -> dict[str, int]:
    """Return one program's traffic in main memory, in bytes by target; targets that failed to compile are left out."""
    programs = requests[name]
    return {
        target: main_memory_bytes(program.module)
        for target, program in programs.items()
        if isinstance(program, Capture)
    }


def check_barrier(requests: Requests) -> None:
    """Assert how many kernels and how much traffic a barrier adds, for a small and for a large array."""
    assert list(count_requested(requests, "barrier").values()) == [2, 2, 2]
    assert list(count_requested(requests, "nothing").values()) == [1, 1, 1]
    for program in requests["barrier"].values():
        assert isinstance(program, Capture)
        assert program.unoptimized_module.opcode_counts()["opt-barrier"] == 1
    large, fused = (count_main_bytes(requests, name) for name in ("barrier, large", "nothing, large"))
    assert large == {target: 2 * fused[target] for target in TARGETS}
    on_chip = [count_main_bytes(requests, name)["tpu-v5e"] for name in ("barrier", "nothing")]
    assert on_chip[0] == on_chip[1]


def check_crossing(million: jax.ShapeDtypeStruct) -> None:
    """Compile programs with a barrier; assert which optimizations cross it and that no fusion has both its sides."""
    hold: Callable[[Any], Any] = jax.lax.optimization_barrier
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    # The result of the matmul is unused, so a compiler that removes it has looked through the barrier.
    for program in capture_all(lambda x, y: hold((x + 1, y @ y))[0], square, square, passes=False).values():
        assert program.unoptimized_module.opcode_counts()["dot"] == 1
        assert not {"dot", "convolution"} & set(program.module.opcode_counts())
    undone = capture_all(lambda x: hold(x.T + 1).T, million, passes=False)
    transposed = {target: "transpose" in undone[target].module.opcode_counts() for target in TARGETS}
    assert transposed == {"cpu": True, "h100": False, "tpu-v5e": False}
    narrow = jax.ShapeDtypeStruct((64, 64), jnp.bfloat16)
    widened = capture_all(lambda x: hold(x.astype(jnp.float32)).astype(x.dtype), narrow, passes=False)
    conversions = {target: widened[target].module.opcode_counts()["convert"] for target in TARGETS}
    assert conversions == {"cpu": 2, "h100": 2, "tpu-v5e": 0}
    products = {"dot", "convolution"}
    pairs: tuple[tuple[Callable[[Any], Any], set[str], set[str]], ...] = (
        (lambda x: hold(jnp.exp(x)) * 2, {"exponential"}, {"multiply"}),
        (lambda x: hold(jnp.exp(x)).sum(1), {"exponential"}, {"reduce"}),
        (lambda x: jnp.exp(hold(x @ x.T)), products, {"exponential"}),
        (lambda x: hold(jnp.exp(x)) @ x.T, {"exponential"}, products),
    )
    for function, producers, consumers in pairs:
        for program in capture_all(function, jax.ShapeDtypeStruct((256, 512), jnp.float32), passes=False).values():
            # The entry computation contains both sides as separate kernels, so only the bodies of fusions count.
            entry = program.module.entry.name
            bodies = [
                {instruction.opcode for instruction in block}
                for block in program.module.computations
                if block.name != entry
            ]
            assert not any(body & producers and body & consumers for body in bodies)


def check_marks(requests: Requests) -> None:
    """Assert that only the TPU obeys `FUSE_LIMIT` and `MUST_FUSE`, which the other compilers keep but ignore."""
    counts = {name: count_requested(requests, name) for name in requests}
    for name, without, mark in (
        ("limit on the first", "nothing", "FUSE_LIMIT"),
        ("limit on the second", "nothing", "FUSE_LIMIT"),
        ("two arrays, must fuse", "two arrays", "MUST_FUSE"),
    ):
        for target in ("cpu", "h100"):
            assert counts[name][target] == counts[without][target]
            assert mark in _take(requests[name][target]).after
    on_tpu = {name: counts[name]["tpu-v5e"] for name in (*FORCED,)[2:6]}
    assert list(on_tpu.values()) == [2, 1, 2, 1]
    moved = [count_main_bytes(requests, name)["tpu-v5e"] for name in ("two arrays", "two arrays, must fuse")]
    assert moved[0] == moved[1]
    assert 'FUSE_LIMIT="true"' in _take(requests["limit on the first"]["cpu"]).before
    demanded = _take(requests["two arrays, must fuse"]["cpu"])
    assert 'MUST_FUSE="1"' in demanded.before
    assert demanded.unoptimized_module.opcode_counts()["call"] == 1


def _take(program: Capture | str) -> Capture:
    """Return the given capture, and assert that it is not an error message."""
    assert isinstance(program, Capture)
    return program


def check_siblings(two_sums: Captures, pair: Captures) -> None:
    """Assert which targets compute two results of one array in one kernel, and which pass joins them."""

    def list_tuples(program: Capture) -> list[str]:
        kernels = list_kernels(program)
        return [kernel.name for kernel in kernels if kernel.instruction.shape.is_tuple and kernel.opcode == "fusion"]

    assert list_counts(two_sums) == [2, 1, 1]
    assert [bool(list_tuples(two_sums[target])) for target in TARGETS] == [False, True, True]
    assert list_counts(pair) == [2, 2, 1]
    narrow = jax.ShapeDtypeStruct((64, 128), jnp.bfloat16)
    assert count_launches(capture(lambda x: (jnp.sin(x), jnp.cos(x)), narrow, target="h100", passes=False)) == 1
    for target in ("h100", "tpu-v5e"):
        assert main_memory_bytes(two_sums[target].module) < 1.1 * two_sums[target].memory.arguments
    assert not any(re.search("multi.?output", run.name) for run in two_sums["cpu"].runs)
    for target, kind, name in (
        ("h100", "siblings-fused", "multi_output_fusion"),
        ("tpu-v5e", "pair-fused", "tpu_multi_output_fusion"),
    ):
        decision = find_decision(two_sums[target], kind)
        assert (decision.verdict, decision.pass_name) == ("done", name)
    kinds = {reason.kind for reason in read_reasons(pair["h100"]).of("fusion")}
    assert kinds == {"gpu-user-not-fusible", "not-to-triton"}
    assert pair["h100"].module.entry.root.opcode == "tuple"
    assert find_decision(pair["tpu-v5e"], "pair-fused").verdict == "done"
