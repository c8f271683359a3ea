"""The playground: a page on this machine on which code is edited, and what XLA makes of it seen."""

from xla_inspect.play.play_page import read_static
from xla_inspect.play.playing import serve
from xla_inspect.play.recaptured import recapture
from xla_inspect.play.starting_points import list_starters
from xla_inspect.play.workshop import Limits, choose_memory

__all__ = ["Limits", "choose_memory", "list_starters", "read_static", "recapture", "serve"]
