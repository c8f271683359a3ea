"""The command `xla-inspect`: a module for each subcommand. Slow imports happen only when a subcommand runs."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.commands.command_line import build_parser, main, run_here
    from xla_inspect.commands.command_list import BAD_INPUT, CHANGED, MISSING, NO, OK, list_questions
    from xla_inspect.commands.magic import load_ipython_extension
else:
    __getattr__ = lazy_names(__name__)
