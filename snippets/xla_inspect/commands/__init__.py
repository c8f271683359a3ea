"""The command `xla-inspect`: a module for each of its subcommands, which imports what is heavy only when it runs."""

from xla_inspect.commands.command_line import main, run_here

__all__ = [
    "main",
    "run_here",
]
