"""Whether autotuning would decide something in a program: found by a compile that refuses to go on without a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import capture

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRE = "xla_gpu_require_complete_aot_autotune_results"
"""The option under which a compile ends where a choice is not recorded."""

LEVEL = "xla_gpu_autotune_level"


def has_choice(function: Callable[..., Any], *example: object, target: str) -> bool:
    """Return whether autotuning would time candidates for some instruction of a program.

    Args:
        function: The program.
        example: Its arguments; shapes are enough.
        target: A GPU.

    Raises:
        jax.errors.JaxRuntimeError: The compile ends for another reason.
    """
    try:
        capture(function, *example, target=target, options={LEVEL: 4, REQUIRE: True})
    except jax.errors.JaxRuntimeError as error:
        # Which of several it names is not the same each time.
        if "No cached config found for HLO instr" not in str(error):
            raise
        return True
    return False
