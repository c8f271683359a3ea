"""Exercises that mark themselves: what the reader wrote is compiled, and judged by what the compiler says.

`exercises` reads the files that the reader edits, `runner` marks them in a process beside this one (`worker`), and a
module for each phase says what its exercises are judged by. Importing this package imports no JAX and runs nothing.
"""

from xla_inspect.practice.checking.exercises import EXERCISES, Exercise, find_exercises
from xla_inspect.practice.checking.runner import run

__all__ = ["EXERCISES", "Exercise", "find_exercises", "run"]
