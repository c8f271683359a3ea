"""The question about the launches of a program: lines, work, estimated times and, with a profile, measured times."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.kernels.finding import rank_launches
    from xla_inspect.questions.kernels.launch_rows import LaunchRow, find_scope, list_fused
    from xla_inspect.questions.kernels.options import kernels
    from xla_inspect.questions.kernels.profile_join import UNMEASURED, Names, join_times, measure_program
    from xla_inspect.questions.kernels.row_limit import USUAL_ROWS
else:
    __getattr__ = lazy_names(__name__)
