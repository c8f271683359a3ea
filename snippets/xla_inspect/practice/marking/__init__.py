"""The marking of exercises: the reader's code is compiled and judged by the compiler's output.

`exercises` reads the files that the reader edits, `marker` runs them in a separate process (`sandbox`), and a module
for each phase (`check_basics`, ...) defines the checks of its exercises. Importing this package does not import JAX
and runs none of the reader's code.
"""
