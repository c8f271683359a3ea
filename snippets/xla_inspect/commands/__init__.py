"""The command `xla-inspect`: a module for each of its subcommands, which imports what is heavy only when it runs."""

from xla_inspect.commands.command_line import main, run_here
from xla_inspect.commands.program_file import load_file, load_function

__all__ = [
    "load_file",
    "load_function",
    "main",
    "run_here",
]
