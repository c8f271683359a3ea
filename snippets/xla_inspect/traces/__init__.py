"""Readers of XProf profiles, Chrome traces and Nsight tables, which do not need the programs that wrote them."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.traces.event import Event, Source, name_op
    from xla_inspect.traces.labelling import Label, write_labelled
    from xla_inspect.traces.opening import open_profile, open_trace
    from xla_inspect.traces.timing import Timed, Timing, measure_times
    from xla_inspect.traces.xplane import is_profile, read_programs
else:
    __getattr__ = lazy_names(__name__)
