"""TVM's programs from ONNX, compiled for this machine's processor: with default loops, and with a tuned schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tvm
from tvm import relax

from peers import given
from peers.tvm import relaxing, schedule

if TYPE_CHECKING:
    from collections.abc import Callable

KERNEL = "fused_matmul_add_relu"


def load(program: str, module: Any) -> Callable[[], Any]:  # noqa: ANN401 - TVM has no types
    """Return a function that runs a module."""
    target = {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()}
    executable = tvm.compile(module, target=tvm.target.Target(target))
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    arguments = [tvm.runtime.tensor(array) for array in given.inputs(program).values()]
    return lambda: run(*arguments).numpy()


def build(program: str) -> Callable[[], Any]:
    """Return a function that runs a program whose kernels are TVM's default loops."""
    return load(program, relaxing.fuse(program))


def tune(program: str) -> Callable[[], Any] | None:
    """Return a function that runs the layer with its stored schedule, or None for the other programs."""
    if program != "layer":
        return None
    fused = relaxing.fuse(program)
    scheduled = tvm.s_tir.Schedule(tvm.IRModule({"main": fused[KERNEL].with_attr("global_symbol", "main")}))
    schedule.apply_trace(scheduled)
    module = tvm.IRModule(dict(fused.functions_items()))
    module[KERNEL] = scheduled.mod["main"].without_attr("global_symbol")
    return load(program, module)


WAYS = {"TVM": build, "TVM, tuned": tune}
