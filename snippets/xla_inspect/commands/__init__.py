"""The command `xla-inspect`: a module for each of its subcommands, which imports what is heavy only when it runs."""

from xla_inspect.commands.command_line import BAD_INPUT, CHANGED, MISSING, NO, OK, list_questions, main, run_here

__all__ = [
    "BAD_INPUT",
    "CHANGED",
    "MISSING",
    "NO",
    "OK",
    "list_questions",
    "main",
    "run_here",
]
