"""Options and stand-ins with which a program compiles for a GPU where none is present.

MIOpen, AMD's library for convolutions, chooses an algorithm only on a GPU, so the pass that asks for it is left out.
The same pass chooses the tiles of Triton's matmuls, so in a program with convolutions the matmuls are hipBLASLt's. The
library CUB, which sorts many elements, asks for the GPU after XLA's passes, so XLA's own kernels sort. The functions of
other custom calls on AMD GPUs, such as those of hipSOLVER, come with a package that has no release for each release of
JAX, so stand-ins are registered.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xla_inspect import jax_private, targets
from xla_inspect.targets import CUB_SORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.targets import Target

# The names of JAX's functions for ROCm, and of its calls of Python, in a program as text or as bytecode.
_FUNCTION = re.compile(r"\b(?:hip[a-z]*_|xla_(?:ffi|buffer)_)\w+")
_SORTS = re.compile(r"stablehlo\.sort|top_?k", re.IGNORECASE)
_OPTION, _PASS = "xla_disable_hlo_passes", "config-assigner"


def adapt_options(
    target: Target, stablehlo: str, options: Mapping[str, str | int | bool]
) -> dict[str, str | int | bool]:
    """Return the options with which a program compiles without the GPU: others if it has sorts or convolutions.

    Args:
        target: The target.
        stablehlo: The text of the program.
        options: The options for any program. A choice about sorts is kept.
    """
    adapted = dict(options)
    if target.kind == "gpu" and _SORTS.search(stablehlo) and targets.knows_gpu_option(CUB_SORT, target.platform):
        adapted.setdefault(CUB_SORT, False)
    if target.platform == "rocm" and "stablehlo.convolution" in stablehlo:
        passes = [*filter(None, str(options.get(_OPTION, "")).split(",")), _PASS]
        adapted |= {_OPTION: ",".join(dict.fromkeys(passes)), "xla_gpu_enable_triton_gemm": False}
    return adapted


@contextmanager
def stand_ins(target: Target, program: str | bytes) -> Iterator[None]:
    """Let a program compile for an AMD GPU in the `with` block although the functions that it calls are missing.

    An error of the compiler in the block also says which library of ROCm it called last, if a stand-in answered.

    Args:
        target: The target; for those of other platforms, nothing happens.
        program: The StableHLO of the program, as text or as bytecode.
    """
    if target.platform != "rocm":
        yield
        return
    # The functions are registered before the compile, since a compile that fails and is repeated would leave its record
    # of passes twice.
    target.devices()
    text = program if isinstance(program, str) else program.decode("latin-1")
    for name in sorted(set(_FUNCTION.findall(text))):
        jax_private.register_stand_in(target.platform, name)
    targets.forget_rocm_calls()
    try:
        yield
    except RuntimeError as error:
        if call := targets.name_rocm_call():
            error.args = (f"{error}\nThe last call of a ROCm library was {call}, which is a stand-in here.",)
        raise
