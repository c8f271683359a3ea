"""Listings, pictures and checks of the chapter that compares TensorFlow and PyTorch, both recorded, with JAX."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

import peers
from chapters import StripBox, draw_strips
from peers import given
from programs import classify, gelu, layer, mlp_block
from xla_inspect.analysis import list_kernels
from xla_inspect.hlo import parse_module
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from peers.records import Record
    from xla_inspect import Capture
    from xla_inspect.hlo import Module

FRAMEWORK, MADE, XLAS = "framework", "made", "xla"
OWNERS = {FRAMEWORK: "TensorFlow's", XLAS: "XLA's"}
INDUCTOR = {FRAMEWORK: "a library's matmul", MADE: "a kernel that Inductor generated"}
PROGRAMS: dict[str, Callable[..., Any]] = {
    "layer": layer.layer,
    "gelu": gelu.gelu,
    "classify": classify.classify,
    "mlp_block": mlp_block.mlp_block,
}


class Ledger:
    """Python objects that a function modifies as a side effect."""

    def __init__(self) -> None:
        """Create the empty list `calls` and the number `last`, 0."""
        self.calls: list[int] = []
        self.last = 0


def count_by_size(batches: Iterable[int]) -> tuple[list[int], list[int]]:
    """Call the jitted layer with each batch size; return the new traces, and the new executables, of each call."""
    x, w, b = given.inputs("layer").values()
    traced: list[int] = []

    def trace(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        traced.append(len(x))
        return layer.layer(x, w, b)

    live: Any = jax.jit(trace)
    counts = [(0, 0)]
    for batch in batches:
        live(x[:batch], w, b)
        counts.append((len(traced), live._cache_size()))  # noqa: SLF001 - JAX tells it nowhere else
    # The counts are totals, so the difference of two neighbours belongs to one call.
    traces, compiles = ([after - before for before, after in pairwise(column)] for column in zip(*counts, strict=True))
    return traces, compiles


def list_writes(calls: int) -> dict[str, list[int]]:
    """Call a jitted function; return `last`, what each call wrote, or 0, and `appended`, the length of its list."""
    ledger, after = Ledger(), dict[str, list[int]](last=[], appended=[])

    def remember(x: jax.Array) -> jax.Array:
        ledger.last = x.shape[0]
        ledger.calls.append(x.shape[0])
        return x * 2

    jitted = jax.jit(remember)
    for _ in range(calls):
        # Without this reset, a value from the trace would look as if the call had written it.
        ledger.last = 0
        jitted(given.inputs("gelu")["x"])
        after["last"].append(ledger.last)
        after["appended"].append(len(ledger.calls))
    return after


def find_branch_error() -> str:
    """Return the first line of JAX's error for a Python branch on a tracer, or an empty string if there is no error."""

    def branch(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        y = layer.layer(x, w, b)
        return (y * 2 if y.sum() > 0 else y) + 1

    try:
        jax.jit(branch)(*given.inputs("layer").values())
    except jax.errors.TracerBoolConversionError as error:
        return str(error).splitlines()[0]
    return ""


def show_program(peer: str, *names: str) -> str:
    """Return a fenced listing of functions or classes, by name, from the file `layers.py` of a framework's folder."""
    text = (Path(peers.__path__[0]) / peer / "layers.py").read_text(encoding="utf-8")
    nodes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    body = "\n\n".join(ast.get_source_segment(text, nodes[name]) or "" for name in names)
    return markdown.fence(body, "python", title=f"from snippets/peers/{peer}/layers.py")


def show_text(record: Record, name: str, language: str, author: str) -> str:
    """Return a fenced listing of one text of a record, with its author and name as title."""
    return markdown.fence(record.texts[name], language, title=f"{author}: {name.partition('/')[2]}")


def show_message(message: str, author: str) -> str:
    """Return an error message as a listing whose long lines wrap, with its author as title."""
    return f'<div class="said" markdown="1">\n\n{markdown.fence(message, "text", title=author)}\n</div>'


def make_boxes(kind: str, names: Iterable[str]) -> list[StripBox]:
    """Return a box for each name, all of the same kind."""
    return [StripBox(name, kind) for name in names]


def make_kernel_boxes(kernels: Iterable[str]) -> list[StripBox]:
    """Return a box for each of PyTorch's kernels, with a kind for libraries and one for Inductor's own code."""
    return [StripBox(name, MADE if name.startswith("cpp") else FRAMEWORK) for name in kernels]


def show_inductor(kernels: Mapping[str, Iterable[str]], caption: str) -> str:
    """Return a picture of PyTorch's kernels, with a strip for each program."""
    return draw_strips({name: make_kernel_boxes(names) for name, names in kernels.items()}, INDUCTOR, caption)


def list_names(names: Iterable[str]) -> str:
    """Return names as inline code, separated by commas, or `none`."""
    return ", ".join(map(markdown.code, names)) or "none"


def list_launches(program: Capture | Module) -> list[str]:
    """Return the names of a program's kernels."""
    return [kernel.name for kernel in list_kernels(program)]


def check_programs(records: Mapping[str, Record], captures: Mapping[str, Capture]) -> None:
    """Assert that the errors of all programs are below one bound, and the kernels by which XLA reduces a row."""
    for name in ("tensorflow", "torch", "pytorch_xla"):
        record = records[name]
        assert list(record.kernels) == list(record.error_below) == list(given.SHAPES)
        assert set(record.error_below.values()) == {given.BOUND}
    for name, program in PROGRAMS.items():
        given.check(name, jax.jit(program)(*given.inputs(name).values()))
    jit, on_xla = records["tensorflow"].facts["jit"], records["pytorch_xla"]
    reduced = [name.partition(".")[0] for name in jit["classify"]["launches"] if "reduce" in name]
    assert reduced == 2 * ["wrapped_reduce-window", "wrapped_reduce"]
    assert "wrapped_reduce-window" in jit["classify"]["launches"]
    assert len(jit["classify"]["launches"]) > len(on_xla.kernels["classify"])
    assert len({jax.__version__, on_xla.versions["jax"]}) == 2
    assert len(given.SHAPES) == 4
    assert "ynn" not in " ".join(name for counts in jit.values() for name in counts["launches"])
    for names in (on_xla.kernels["classify"], list_launches(captures["classify"])):
        assert any(name.startswith("ynn_fusion") for name in names)


def check_grappler(tensorflow: Record) -> None:
    """Assert the recorded fusions of Grappler, TensorFlow's graph optimizer, with and without oneDNN."""
    assert tensorflow.facts["grappler"]["layer"] == ["_FusedMatMul"]
    assert "fused_ops=['BiasAdd', 'Relu']" in tensorflow.texts["layer/grappler"]
    assert tensorflow.kernels["layer"] == ("_MklNativeFusedMatMul",)
    assert sorted(tensorflow.kernels["gelu"]) == sorted(tensorflow.facts["eager"]["gelu"])
    block = tensorflow.texts["mlp_block/grappler"].splitlines()
    assert [line.count("fused_ops") for line in block if "MatMul(" in line] == [1, 0]
    residual, last = block[-2:]
    assert "= AddN(matmul_1, x)" in residual
    assert f"= AddV2({residual.partition(' = ')[0]}, weights_3)" in last
    assert list(tensorflow.facts["onednn_off"].values()) == [tensorflow.facts["eager"]["layer"], ["_FusedMatMul"]]


def check_bridge(tensorflow: Record, captured: Capture) -> None:
    """Assert the recorded layer before and after XLA's passes under TensorFlow, and the message about stages."""
    before, after = (parse_module(tensorflow.texts[f"layer/{name}"]) for name in ("hlo", "optimized_hlo"))
    counts, clutter = before.opcode_counts(), ("reshape", "transpose")
    assert [counts[name] for name in clutter] == [4, 1]
    assert not {*clutter} & set(after.opcode_counts())
    assert [launch.opcode for launch in list_kernels(after)] == ["dot", "fusion"]
    assert [kernel.opcode for kernel in list_kernels(captured)] == ["fusion", "fusion"]
    jit = tensorflow.facts["jit"]
    assert jit["layer"]["operations"] == ["__inference_layer"]
    valid = tensorflow.texts["refused/stage"].partition("Valid values are: ")[2]
    assert valid.count("'") == 2 * 5
    assert "stablehlo" not in valid
    for name in given.SHAPES:
        kernels = list_kernels(parse_module(tensorflow.texts[f"{name}/optimized_hlo"]))
        assert [launch.name for launch in kernels] == jit[name]["launches"]


def check_clusters(tensorflow: Record) -> None:
    """Assert TensorFlow's recorded clusters around a Python call, the operations outside them, and the least size."""
    facts, auto, small = tensorflow.facts, tensorflow.facts["auto"], tensorflow.facts["any_size"]["classify"]
    cut, outside = (facts["clusters"]["interrupted"][part] for part in ("clusters", "kept"))
    assert len(cut) == 2
    assert {entry["operation"] for entry in outside.values()} == {"EagerPyFunc", "_FusedMatMul"}
    for entry in outside.values():
        assert entry["why"].startswith(f"No registered '{entry['operation']}' OpKernel for XLA")
    ran = auto["interrupted"]["operations"]
    assert [ran.count(name) for name in ("_XlaRun", "_XlaCompile", "_XlaMerge")] == [len(cut)] * 3
    assert [operation for operation in ran if not operation.startswith("_Xla")] == [
        "_MklNativeFusedMatMul",
        "EagerPyFunc",
    ]
    assert auto["classify"]["launches"] == []
    assert len(auto["classify"]["operations"]) == 2
    assert small["operations"] == ["_XlaCompile", "_XlaRun", "_XlaMerge"]
    assert small["launches"] == facts["jit"]["classify"]["launches"]
    assert all(len(nodes) >= 4 for entry in facts["clusters"].values() for nodes in entry["clusters"].values())


def check_guards(torch: Record) -> None:
    """Assert PyTorch's recorded guards of the layer, and that JAX reads a global only once, when it traces."""
    kinds, text = torch.facts["guards"], torch.texts["layer/guards"]
    assert kinds["TENSOR_MATCH"] == len(given.SHAPES["layer"])
    assert kinds["GLOBAL_STATE"] == kinds["DEFAULT_DEVICE"] == 1
    assert kinds["ID_MATCH"] == 2
    assert "G['functional'].relu.__code__" in text
    assert "size=[64, 128], stride=[128, 1]" in text
    assert torch.facts["operations"]["layer"] == ["matmul", "add", "relu"]
    factors = [2]
    scaled = jax.jit(lambda x: x * factors[-1])
    first = int(scaled(1))
    factors.append(3)
    assert int(scaled(1)) == first == 2


def check_breaks(torch: Record, concrete: str) -> None:
    """Assert PyTorch's recorded graphs of functions with a break, and that `jax.jit` runs a side effect only once.

    Args:
        torch: PyTorch's record.
        concrete: JAX's error for a Python branch.
    """
    broken = torch.facts["breaks"]
    assert [len(record["graphs"]) for record in broken.values()] == [2, 2]
    assert broken["printing"]["printed"] == ["doubled"] * 3
    for words in ("torch.cond", "Data-dependent branching"):
        assert words in torch.texts["refused/branch"]
    assert "bool" in concrete
    spoken: list[str] = []

    @jax.jit
    def speak(x: jax.Array) -> jax.Array:
        spoken.append("doubled")
        return x * 2 + 1

    for _ in range(3):
        speak(1.0)
    assert spoken == ["doubled"]


def check_effects(effects: Mapping[str, Any], writes: Mapping[str, Sequence[int]]) -> None:
    """Assert PyTorch's recorded writes to Python objects and compilations at each call, and JAX's writes."""
    assert effects["remembering"]["last"] == [4, 4, 4]
    assert effects["appending"]["appended"] == [1, 2, 3]
    assert writes == {"last": [4, 0, 0], "appended": [1, 1, 1]}
    assert [effects[name]["graphs"] for name in ("remembering", "appending")] == [[1, 1, 1], [1, 2, 3]]
    assert effects["appending"]["reasons"] == ["not ledger.calls", "len(ledger.calls) == 1"]


def check_inductor(torch: Record, launches: Sequence[str]) -> None:
    """Assert the recorded kernels and loops that Inductor, PyTorch's compiler, generates for the four programs.

    Args:
        torch: PyTorch's record.
        launches: The kernels of JAX's softmax.
    """
    code = torch.texts["classify/code"]
    assert torch.kernels["classify"] == ("extern_kernels.mm", "cpp_fused__softmax_0")
    assert [code.count(f"for(int64_t {loop}") for loop in ("x0", "x1")] == [1, 3]
    assert len(launches) > 2
    assert torch.kernels["layer"][0] == "extern_kernels.addmm"
    assert torch.facts["scheduled"]["layer"]["patterns"] == 1
    assert "# reuse" in torch.texts["layer/code"]
    assert len(torch.kernels) == 4
    for name in given.SHAPES:
        code = torch.texts[f"{name}/code"]
        steps = re.findall(r"(x[01])\+=static_cast<int64_t>\((\d+)L\)", code)
        pairs = zip(steps, [*steps[1:], ("x0", "")], strict=True)
        assert {step for (loop, step), (following, _) in pairs if (loop, following) != ("x0", "x1")} == {str(8)}
        assert all(kernel.startswith(("extern_kernels.", "cpp_fused_")) for kernel in torch.kernels[name])
        assert "xla" not in code.lower()
