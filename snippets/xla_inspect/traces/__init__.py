"""Readers of XProf profiles, Chrome traces and Nsight tables, which do not need the programs that wrote them."""

from xla_inspect.traces.event import Event, Source, name_op
from xla_inspect.traces.labelling import Label, write_labelled
from xla_inspect.traces.opening import open_trace
from xla_inspect.traces.timing import Timed, Timing, measure_times

__all__ = [
    "Event",
    "Label",
    "Source",
    "Timed",
    "Timing",
    "measure_times",
    "name_op",
    "open_trace",
    "write_labelled",
]
