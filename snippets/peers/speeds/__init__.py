"""How long each compiler's programs take, one module for each compiler: `scripts/peers --bench` runs them.

A module has `WAYS`: the name of a way to compile, and what builds a program that way, or None where it cannot.
What it builds runs the program once, on inputs that lie ready, and returns the finished result as an array.
"""
