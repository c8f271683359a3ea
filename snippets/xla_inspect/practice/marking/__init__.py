"""Exercises that mark themselves: what the reader wrote is compiled, and judged by what the compiler says.

`exercises` reads the files that the reader edits, `marker` has them run in a process of their own (`sandbox`), and a
module for each phase (`check_basics`, ...) says what its exercises are judged by. Importing this package imports no JAX
and runs nothing.
"""
