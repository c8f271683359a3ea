"""The results of other compilers for the same four programs.

Each folder contains a script `run.py`, which `uv run --script` runs with its own packages, and the latest record.
`scripts/peers` runs the scripts and compares the records; `peers.records` reads them without any of those packages.
"""
