"""The choices of a search for a release: its questions and its time limit.

The command's help lists them, so this module imports nothing.
"""

QUESTION_NAMES = (
    "compiles",
    "kernels",
    "memory",
    "copies",
    "collectives",
    "code",
    "numbers",
    "compile-time",
    "run-time",
)
"""The names of the questions whose answers are compared between releases."""

COMPILE_LIMIT = 300.0
"""The default time limit of one task in seconds."""
