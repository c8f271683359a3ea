"""Relax: the four programs from ONNX, the passes that group their operations into kernels, and the memory plan."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

import tvm
from tvm import relax
from tvm.relax import transform
from tvm.relax.frontend.onnx import from_onnx

from peers import models

if TYPE_CHECKING:
    from onnx import ModelProto

PASSES: dict[str, Any] = {
    "LegalizeOps": transform.LegalizeOps,
    "AnnotateTIROpPattern": transform.AnnotateTIROpPattern,
    "FoldConstant": transform.FoldConstant,
    "FuseOps": transform.FuseOps,
    "FuseTIR": transform.FuseTIR,
    "DeadCodeElimination": transform.DeadCodeElimination,
}
"""The passes, in order."""

PATTERNS = {
    0: "element-wise",
    1: "broadcast",
    2: "injective",
    3: "reduction",
    4: "takes element-wise operations at its end",
    7: "tuple",
    8: "opaque",
}
"""What the numbers of the attribute `op_pattern` mean, by TVM's enumeration `OpPatternKind`."""

_FLOAT = 4  # bytes


def load(model: ModelProto) -> Any:  # noqa: ANN401 - TVM has no types
    """Return a model as TVM imports it from ONNX."""
    return from_onnx(model, keep_params_in_input=False)


def follow(module: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the module after each pass, by the pass's name."""
    found = {}
    for name, make in PASSES.items():
        module = make()(module)
        found[name] = module
    return found


def fuse(program: str) -> Any:  # noqa: ANN401
    """Return one of the four programs after the last pass."""
    return follow(load(models.PROGRAMS[program]()))["DeadCodeElimination"]


def launches(module: Any) -> list[str]:  # noqa: ANN401
    """Return the names of the functions that `main` calls, in order."""
    called = []
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            call = binding.value
            if isinstance(call, relax.Call):
                callee = call.args[0] if getattr(call.op, "name", "") == "relax.call_tir" else call.op
                if isinstance(callee, tvm.ir.GlobalVar):
                    called.append(callee.name_hint)
    return called


def patterns(module: Any) -> dict[str, str]:  # noqa: ANN401
    """Return how each function of a module may be fused, as `AnnotateTIROpPattern` found."""
    kernels = {var.name_hint: function for var, function in module.functions.items()}
    return {name: PATTERNS[int(kernels[name].attrs["op_pattern"])] for name in launches(module)}


def plan(module: Any) -> tuple[str, dict[str, int]]:  # noqa: ANN401
    """Plan the memory of a module's kernels before it runs.

    Returns:
        The planned `main` as text; and how many tensors `main` allocates before and how many bytes they take, then how
        many places hold all of them, with the result, which has one of its own, and how many bytes these take.
    """
    steps = [transform.ToNonDataflow(), transform.RemovePurityChecking(), transform.CallTIRRewrite()]
    allocated = tvm.transform.Sequential(steps)(module)
    planned = transform.StaticPlanBlockMemory()(allocated)
    before, after = show(allocated), show(planned)
    tensors = _sizes(before, r"R\.builtin\.alloc_tensor", _FLOAT)
    places = _sizes(after, r"R\.memory\.alloc_storage", 1) + _sizes(after, r"R\.builtin\.alloc_tensor", _FLOAT)
    counts = {"tensors": len(tensors), "bytes": sum(tensors), "places": len(places), "planned bytes": sum(places)}
    return show_main(planned), counts


def _sizes(script: str, allocation: str, unit: int) -> list[int]:
    """Return the bytes that each allocation of a kind asks for."""
    shapes = re.findall(allocation + r"\(R\.shape\(\[([\d, ]+)\]\)", script)
    return [unit * prod(map(int, shape.split(","))) for shape in shapes]


def show(module: Any) -> str:  # noqa: ANN401
    """Return a module as TVMScript, without the imports that stand as comments above it."""
    text: str = module.script(show_meta=False)
    return text[text.index("@I.ir_module") :]


def show_main(module: Any) -> str:  # noqa: ANN401
    """Return the Relax functions of a module as TVMScript, without the kernels above them."""
    text = show(module)
    return text[text.index("    @R.function") :]
