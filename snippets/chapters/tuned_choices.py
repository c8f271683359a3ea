"""A test for an effect of autotuning on a program: a compilation that fails without recorded autotuning results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import capture

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRE = "xla_gpu_require_complete_aot_autotune_results"
"""The option with which a compilation fails if an autotuning result is not recorded."""

LEVEL = "xla_gpu_autotune_level"


def has_choice(function: Callable[..., Any], *example: object, target: str) -> bool:
    """Compile a program for a GPU, and return whether autotuning would time candidates for any of its instructions.

    Raises:
        jax.errors.JaxRuntimeError: The compilation fails for another reason.
    """
    # Nothing can be timed without a GPU, so a compilation that needs a time fails.
    try:
        capture(function, *example, target=target, options={LEVEL: 4, REQUIRE: True})
    except jax.errors.JaxRuntimeError as error:
        # The instruction in the message varies from run to run, so only the start is compared.
        if "No cached config found for HLO instr" not in str(error):
            raise
        return True
    return False
