"""What other compilers do with the same four programs.

Each folder holds a `run.py`, which `uv run --script` runs with packages of its own, and the record that it wrote last.
`scripts/peers` runs them and compares; `peers.records` reads the records and needs none of those packages.
"""
