"""The programs to be timed with each compiler, in one module per compiler; `scripts/peers --bench` runs them.

Each module has `WAYS`, a mapping from the name of a way to compile to a function that builds a program in that way. The
function returns a callable that runs the program once on prepared inputs and returns the result as an array, or None.
"""
