"""Estimates of the time of a program: of each launch, of each collective, and of a whole step.

All times are estimates by cost models and no measurements. Each has a range, which comes from the spread of the models.
"""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis.estimates.collective_time import HOP, LINK_SHARES, START
    from xla_inspect.analysis.estimates.compiler_figures import COLLECT
    from xla_inspect.analysis.estimates.device_rates import DeviceRates, find_rates, list_options, make_cpu_rates
    from xla_inspect.analysis.estimates.estimate import Estimate, RangedTime
    from xla_inspect.analysis.estimates.launch_time import BANDWIDTH, HUGE, HUGE_SHARE, TILES, USUAL_CYCLES
    from xla_inspect.analysis.estimates.model_flops import DEFINITION, count_model_work
    from xla_inspect.analysis.estimates.schedule import Task, walk_schedule
    from xla_inspect.analysis.estimates.step_time import LAUNCHES, StepTime, TimedLaunch, time_program, time_step
else:
    __getattr__ = lazy_names(__name__)
