"""The kernels that each compiler runs for the same programs, as a table for the pages that compare compilers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peers import given
from programs import classify, gelu, layer, mlp_block
from xla_inspect import capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.report import lane, markdown, title
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peers.records import Record
    from xla_inspect import Capture, Captures

_MODULES = {"layer": layer, "gelu": gelu, "classify": classify, "mlp_block": mlp_block}
_MATMULS = {"dot", "convolution"}


@dataclass(frozen=True)
class Way:
    """One way to run the programs.

    Attributes:
        runs: For each program, the names of the kernels that run for one call, in order.
        tunable: The programs whose kernels autotuning can change.
    """

    runs: Mapping[str, Sequence[str]]
    tunable: frozenset[str] = frozenset()


def compile_programs() -> dict[str, Captures]:
    """Compile the programs of the comparison with XLA for the usual targets and an AMD GPU; return them by name."""
    targets = (*USUAL[:2], "mi300x", *USUAL[2:])
    return {
        name: capture_all(getattr(module, name), *module.EXAMPLE, targets=targets) for name, module in _MODULES.items()
    }


def list_ways(captures: Mapping[str, Captures], records: Mapping[str, Record]) -> dict[str, Way]:
    """Return the kernels of each way to run the programs, captured or recorded, by its label in the table.

    Args:
        captures: The result of `compile_programs`; a target without one of the programs is skipped.
        records: The records of `tensorflow`, `torch`, `pytorch_xla`, `tvm`, `iree` and `onnxruntime`, by these names.
    """
    # A row of the table must be complete, so a target that lacks a program has no row.
    targets = [
        target
        for target in next(iter(captures.values()))
        if all(target in by_target for by_target in captures.values())
    ]
    ways = {f"XLA, {title(target)}": _find_way(target, captures) for target in targets}
    tensorflow = records["tensorflow"]
    jit = tensorflow.facts["jit"]
    return ways | {
        "XLA, through torchax": Way(records["pytorch_xla"].kernels),
        "XLA, through jit_compile=True": Way({name: jit[name]["launches"] for name in given.SHAPES}),
        "tf.function": Way(tensorflow.kernels),
        "TensorFlow, eagerly": Way(tensorflow.facts["eager"]),
        "PyTorch, eagerly": Way(records["torch"].facts["eager"]),
        "torch.compile": Way(records["torch"].kernels),
        "TVM": Way(records["tvm"].kernels),
        "IREE": Way(records["iree"].kernels),
        "ONNX Runtime": Way(records["onnxruntime"].kernels),
    }


def show_ways(ways: Mapping[str, Way], tunable: str) -> str:
    """Return a table of the number of kernels that each way runs for each program, with their names in a fold.

    Args:
        ways: The result of `list_ways`, or a part of it.
        tunable: The HTML tag shown after a number that autotuning can change.
    """
    counts = markdown.table(
        ["kernels", *(markdown.code(given.TITLES[name]) for name in given.SHAPES)],
        [(label, *(_count(way, name, tunable) for name in given.SHAPES)) for label, way in ways.items()],
        numbers=range(1, 1 + len(given.SHAPES)),
    )
    names = markdown.cards(
        ["compiler", *given.TITLES.values()],
        [(f"<b>{label}</b>", *(_list(way.runs[name]) for name in given.SHAPES)) for label, way in ways.items()],
    )
    return f"{counts}\n{markdown.fold('The names of the kernels', names)}"


def _find_way(target: str, captures: Mapping[str, Captures]) -> Way:
    kernels = {
        name: [kernel.name for kernel in list_kernels(by_target[target])] for name, by_target in captures.items()
    }
    # Autotuning exists only on GPUs, where it may replace the implementation of a matmul.
    tunable = [name for name in captures if lane(target) == "gpu" and _has_matmul(captures[name][target])]
    return Way(kernels, frozenset(tunable))


def _has_matmul(capture: Capture) -> bool:
    # Passes turn matmuls into fusions and custom calls, so only the unoptimized module shows them by their opcode.
    return not _MATMULS.isdisjoint(capture.unoptimized_module.opcode_counts())


def _count(way: Way, program: str, tunable: str) -> str:
    return f"{len(way.runs[program])}{f' {tunable}' if program in way.tunable else ''}"


def _list(names: Iterable[str]) -> str:
    return "<br>".join(map(markdown.code, names))
