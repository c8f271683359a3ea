"""The playground: a page on this machine on which code is edited, and what XLA makes of it seen."""

from xla_inspect.play.starting_points import list_starters

__all__ = ["list_starters"]
