"""Listings, tables and checks for the page that compares XLA with other compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peers import given
from programs import gelu
from xla_inspect import capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import jax

    from peers.records import Record
    from xla_inspect.captured import Captures


PACKAGES = {
    "TVM": "apache-tvm",
    "torch.compile": "torch",
    "IREE": "iree-base-compiler",
    "ONNX Runtime": "onnxruntime",
    "TensorFlow": "tensorflow-cpu",
}


def show_packages(others: Mapping[str, Record]) -> str:
    """Return a Markdown table of each compiler's package, its recorded version, and the bound on its error."""
    return markdown.table(
        ["compiler", "package", "version", "difference below"],
        [
            (
                name,
                markdown.code(package),
                others[name].versions[package],
                f"{max(others[name].error_below.values()):g}",
            )
            for name, package in PACKAGES.items()
        ],
    )


def check_layer(others: Mapping[str, Record], xla: Captures) -> None:
    """Assert that TVM, IREE and ONNX Runtime run one kernel for the layer, and Inductor and XLA a matmul and a loop."""
    tvm, iree, onnxruntime, torch = (others[name] for name in ("TVM", "IREE", "ONNX Runtime", "torch.compile"))
    assert len(others) == 5
    assert len(given.SHAPES) == 4
    assert all(record.error_below[program] <= given.BOUND for record in others.values() for program in given.SHAPES)
    for record in (tvm, iree, onnxruntime):
        assert len(record.kernels["layer"]) == len(record.kernels["gelu"]) == 1
    patterns = {"matmul": "takes element-wise operations at its end", "add": "element-wise", "relu": "element-wise"}
    assert tvm.facts["patterns"]["layer"] == patterns
    assert iree.kernels["layer"][0].endswith("matmul_64x256x128_f32")
    kernels = [kernel.name for kernel in list_kernels(xla["cpu"])]
    assert len(torch.kernels["layer"]) == len(kernels) == 2
    assert torch.kernels["layer"][0].startswith("extern_kernels")
    assert kernels[0].startswith("ynn_fusion")


def find_innermost(assembly: str) -> str:
    """Return the lines of the first loop in assembly, from a label to the jump back to it, or all without a loop."""
    lines = assembly.splitlines()
    for at, line in enumerate(lines):
        label = f"{line.split()[-1]}:"
        # A jump back has a target that an earlier line defines.
        if line.split()[0].startswith("j") and label in lines[:at]:
            return "\n".join(lines[lines.index(label) : at + 1])
    return assembly


def show_excerpt(text: str, language: str, most: int = 12) -> str:
    """Return the first `most` lines of a text as a listing, followed by a fold of the whole text if it is longer."""
    lines = text.splitlines()
    if len(lines) <= most:
        return markdown.fence(text, language)
    rest = markdown.fold(f"All {len(lines)} lines", markdown.fence(text, "text"))
    return markdown.fence("\n".join(lines[:most]), language) + "\n" + rest


def show_steps(label: str, counts: Mapping[str, Mapping[str, object]]) -> str:
    """Return a Markdown table with a row for each step of a compiler and a column for each program."""
    return markdown.table(
        [label, *(markdown.code(given.TITLES[program]) for program in given.SHAPES)],
        [(step, *(counts[program][step] for program in given.SHAPES)) for step in counts["layer"]],
        numbers=range(1, 1 + len(given.SHAPES)),
    )


def show_patterns(tvm: Record) -> str:
    """Return an HTML table of the operators of each program, by the pattern that TVM found for them (recorded)."""
    patterns = tvm.facts["patterns"]
    kinds = sorted({kind for operators in patterns.values() for kind in operators.values()}, reverse=True)
    rows = [
        (
            markdown.code(given.TITLES[program]),
            *(" ".join(markdown.code(name) for name, of in operators.items() if of == kind) for kind in kinds),
        )
        for program, operators in patterns.items()
    ]
    return markdown.cards(["program", *kinds], rows)


def check_tvm(tvm: Record) -> None:
    """Assert, on TVM's record, one loop nest for each group, its memory plans, and deployment without its compiler."""
    launches = tvm.facts["launches"]
    assert launches["layer"]["LegalizeOps"] == tvm.texts["layer/LegalizeOps"].count("@T.prim_func") == 3
    assert launches["layer"]["FuseOps"] == tvm.texts["layer/FuseTIR"].count("@T.prim_func") == 1
    for program, steps in launches.items():
        assert steps["LegalizeOps"] >= steps["FuseOps"] == steps["FuseTIR"] == len(tvm.kernels[program])
    memory = tvm.facts["memory"]
    assert all(plan["planned bytes"] <= plan["bytes"] for plan in memory.values())
    assert memory["fused"]["planned bytes"] < memory["unfused"]["planned bytes"]
    assert set(tvm.facts["any rows"]["ran with"]) >= {1, 64}
    assert not any("compiler" in library for library in tvm.facts["exported"]["loaded"])
    sizes = tvm.facts["exported"]["MB of each library"]
    assert sizes["libtvm_runtime"] < sizes["libtvm_compiler"] / 10
    assert tvm.facts["tuned"]["trials"] > 1


def show_imports(tvm: Record) -> str:
    """Return an HTML table of the recorded errors of TVM's StableHLO importer, with the programs that raise them."""
    errors = tvm.facts["stablehlo"]
    rows = [
        (" ".join(markdown.code(given.TITLES[program]) for program in errors if errors[program] == error), error)
        for error in dict.fromkeys(errors.values())
    ]
    return markdown.cards(["programs", "error"], [(names, markdown.code(error)) for names, error in rows])


def show_targets(iree: Record) -> str:
    """Return an HTML table of the recorded result of compiling with IREE, for each target that was tried."""
    return markdown.cards(
        ["target", "result"],
        [(markdown.code(target), _describe_outcome(outcome)) for target, outcome in iree.facts["targets"].items()],
    )


def _describe_outcome(outcome: Mapping[str, Any]) -> str:
    if "refused" in outcome:
        return f"rejected: {markdown.code(outcome['refused'])}"
    return "<br>".join(
        f"{markdown.code(given.TITLES[program])}: {counts['dispatches']} dispatches,"
        f" {markdown.size(counts['vmfb bytes'])}"
        for program, counts in outcome.items()
    )


def check_iree(iree: Record) -> None:
    """Assert, on IREE's record, that one kernel ran with one row and with many, and that one target was rejected."""
    facts = iree.facts
    assert facts["any rows"]["ran with"][0] == 1 < facts["any rows"]["ran with"][-1]
    assert len(facts["any rows"]["kernels"]) == 1
    supported = [target for target, outcome in facts["targets"].items() if "refused" not in outcome]
    assert len(supported) == len(facts["targets"]) - 1 > 1
    assert {target.split()[0] for target in supported} == {"cuda", "rocm", "vulkan-spirv", "metal-spirv"}
    assert facts["vmfb bytes"]["layer"] > 0
    assert "linalg." in iree.texts["classify/dispatch-creation"]
    assert {"input", "global-optimization", "dispatch-creation"} <= facts["phases"]["layer"].keys()


def check_patterns(onnxruntime: Record) -> None:
    """Assert which recorded GELUs, layer norms and softmaxes ONNX Runtime recognizes, and that no level adds nodes."""
    facts = onnxruntime.facts
    nodes = {constant: len(gelu_["operators"]) for constant, gelu_ in facts["gelus"].items()}
    assert len(nodes) == 5
    assert nodes["x / sqrt(2)"] == nodes["x / 1.4142"] == 1
    assert nodes["x / 1.41"] > 1
    assert nodes["x * sqrt(1/2)"] > 1
    assert facts["gelus"]["x * sqrt(1/2)"]["is the exact gelu"]
    for program, levels in facts["nodes"].items():
        assert list(levels.values()) == sorted(levels.values(), reverse=True)
        assert levels["all"] == len(onnxruntime.kernels[program])
    assert len(facts["layer norms"]["pow(d, 2)"]) == 1 < len(facts["layer norms"]["d * d"])
    assert len(facts["softmaxes"]["one operator"]) < len(facts["softmaxes"]["written out"])


def check_gelus() -> None:
    """Compile three ways to write a GELU, and assert that XLA makes one kernel of each on each target."""
    import jax
    import jax.numpy as jnp

    forms: tuple[Callable[[jax.Array], jax.Array], ...] = (
        lambda x: x * 0.5 * (1 + jax.scipy.special.erf(x / 2**0.5)),
        lambda x: x * 0.5 * (1 + jax.scipy.special.erf(x * 0.5**0.5)),
        lambda x: x * 0.5 * (1 + jnp.tanh((2 / jnp.pi) ** 0.5 * (x + 0.044715 * x**3))),
    )
    for form in forms:
        for capture in capture_all(form, *gelu.EXAMPLE).values():
            assert len(list_kernels(capture)) == 1


def show_division(openvino: Record) -> str:
    """Return an HTML table of the recorded nodes of three models, with the execution provider that ran each node."""
    divided = openvino.facts["divided"]
    rows = {
        "an <code>Abs</code> in the middle": divided["by Abs"],
        "a <code>Unique</code> in the middle": divided["by Unique"],
        "the same, with only the CPU provider": openvino.facts["without openvino"],
    }
    return markdown.cards(
        ["model", "nodes and their providers"],
        [
            (
                label,
                " ".join(
                    f"{markdown.code(node['operator'])} ({node['provider'].removesuffix('ExecutionProvider')})"
                    for node in nodes
                ),
            )
            for label, nodes in rows.items()
        ],
    )


def check_division(openvino: Record) -> None:
    """Assert, on OpenVINO's record, that one operator that it does not support splits the model into three parts."""
    divided = openvino.facts["divided"]
    parts = [node["provider"].removesuffix("ExecutionProvider") for node in divided["by Unique"]]
    assert parts == ["OpenVINO", "CPU", "OpenVINO"]
    assert len(divided["by Abs"]) == 1


def list_quicker(ratios: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """Return the compilers that took less time than XLA, by program, the fastest first.

    Args:
        ratios: The recorded time divided by XLA's time, by program and compiler.
    """
    return {
        program: sorted((way for way in by_way if by_way[way] < 1), key=lambda way: by_way[way])
        for program, by_way in ratios.items()
    }


def check_speeds(speeds: Mapping[str, Mapping[str, Iterable[float]]], won: Iterable[str]) -> None:
    """Assert which compilers took less or more time than XLA in the recorded rounds, beyond their middle half.

    Args:
        speeds: The quartiles of the time divided by XLA's time, by program and compiler.
        won: The programs for which IREE took less time than XLA.
    """
    low, medians, high = (
        {program: {way: tuple(three)[place] for way, three in by_way.items()} for program, by_way in speeds.items()}
        for place in range(3)
    )
    assert list(speeds) == list(given.SHAPES)
    assert all(by_way["ONNX Runtime"] < 1 for by_way in high.values())
    assert won == [program for program, by_way in high.items() if by_way["IREE"] < 1]
    assert won == ["layer", "classify", "mlp_block"]
    assert all(by_way[way] > 1 for by_way in low.values() for way in ("TensorFlow", "TensorFlow, jit_compile"))
    assert min(low[program]["TVM"] for program in ("layer", "classify", "mlp_block")) > 10
    assert high["layer"]["TVM, tuned"] < 1
    assert len({min(by_way, key=lambda way: by_way[way]) for by_way in medians.values()}) > 1
    assert all(min(by_way.values()) < 1 for by_way in medians.values())


def check_launches(xla: Mapping[str, Captures], onnxruntime: Record, iree: Record) -> None:
    """Assert that XLA on the CPU launches at least as many kernels of each program as recorded for the other two."""
    own = {program: len(list_kernels(xla[program]["cpu"])) for program in given.SHAPES}
    theirs = {program: len(onnxruntime.kernels[program]) for program in given.SHAPES}
    for program, count in own.items():
        assert count >= max(theirs[program], len(iree.kernels[program]))
    assert own["classify"] > theirs["classify"]
    assert own["mlp_block"] > theirs["mlp_block"]
    assert own["gelu"] == theirs["gelu"] == 1
    assert own["layer"] == 2


def check_pallas() -> None:
    """Lower a Pallas kernel for a TPU, and assert that its StableHLO is a single custom call."""
    import jax
    from jax.experimental import pallas

    def doubled(x: jax.Array) -> jax.Array:
        def kernel(source: Any, result: Any) -> None:  # noqa: ANN401 - references, for which Pallas has no public type
            result[...] = source[...] * 2

        result: jax.Array = pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        return result

    traced = jax.jit(doubled).trace(jax.ShapeDtypeStruct((8, 128), "float32"))
    # Lowering for a platform needs no device of that platform.
    lowered = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert lowered.count("stablehlo.custom_call @tpu_custom_call") == lowered.count("stablehlo.") == 1
