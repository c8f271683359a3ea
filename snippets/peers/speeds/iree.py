"""IREE's programs, compiled for this machine's processor from the StableHLO that JAX exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iree import compiler, runtime

from peers import given, stablehlo

if TYPE_CHECKING:
    from collections.abc import Callable


def build(program: str) -> Callable[[], Any]:
    """Return a function that runs a program."""
    module = compiler.compile_str(
        stablehlo.read(program),
        target_backends=["llvm-cpu"],
        input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    loaded = runtime.VmModule.copy_buffer(context.instance, module)
    context.add_vm_module(loaded)
    run = context.modules[loaded.name]["main"]
    arguments = [runtime.asdevicearray(config.device, array) for array in given.inputs(program).values()]
    return lambda: run(*arguments).to_host()


WAYS = {"IREE": build}
