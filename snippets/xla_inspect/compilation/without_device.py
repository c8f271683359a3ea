"""Options and stand-ins with which a program compiles for an AMD GPU where none is present.

Two parts of ROCm are asked for while a program is compiled. The functions of custom calls, such as those of hipSOLVER,
come with a package that has no release for each release of JAX, so stand-ins are registered. MIOpen, the library for
convolutions, chooses an algorithm only on a device, so the pass that asks for it is left out. The same pass chooses the
tiles of Triton's matmuls, so in a program with convolutions the matmuls are hipBLASLt's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect import jax_private, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.targets import Target

_LACKS_FUNCTION = re.compile(r"No FFI handler registered for ((?:hip|xla_)\w+) on a platform ROCM")
_OPTION, _PASS = "xla_disable_hlo_passes", "config-assigner"


def adapt_options(
    target: Target, stablehlo: str, options: Mapping[str, str | int | bool]
) -> dict[str, str | int | bool]:
    """Return the options with which a program compiles without a device: for AMD GPUs, others if it has convolutions.

    Args:
        target: The target.
        stablehlo: The text of the program.
        options: The options for any program.
    """
    if target.platform != "rocm" or "stablehlo.convolution" not in stablehlo:
        return dict(options)
    passes = [*filter(None, str(options.get(_OPTION, "")).split(",")), _PASS]
    return {**options, _OPTION: ",".join(dict.fromkeys(passes)), "xla_gpu_enable_triton_gemm": False}


def compile_with_stand_ins[T](target: Target, work: Callable[[], T]) -> T:
    """Return the result of a compile, which is repeated for each function of ROCm that it lacks.

    Raises:
        RuntimeError: The compile fails. If it called a library that stands in for ROCm's, the message says which last.
    """
    if target.platform != "rocm":
        return work()
    registered: set[str] = set()
    while True:
        targets.forget_rocm_calls()
        try:
            return work()
        except RuntimeError as error:
            match = _LACKS_FUNCTION.search(str(error))
            if match is None or match[1] in registered:
                if call := targets.name_rocm_call():
                    error.args = (f"{error}\nThe last call of a ROCm library was {call}, which is a stand-in here.",)
                raise
        jax_private.register_stand_in(target.platform, match[1])
        registered.add(match[1])
