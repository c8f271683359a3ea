"""Execution of HLO modules of any target on this machine's CPU, by XLA itself."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.evaluation.device_tiles import Tiling, read_tiling, split_shardings
    from xla_inspect.evaluation.evaluator import (
        MOST_DEVICES,
        Evaluator,
        return_evaluator,
        take_evaluator,
        write_runnable,
    )
    from xla_inspect.evaluation.known_values import hash_bits
    from xla_inspect.evaluation.rounded_factors import FACTOR_BITS
else:
    __getattr__ = lazy_names(__name__)
