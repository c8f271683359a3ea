"""Common claims about XLA, each with the check that decides it.

The claims are in `docs/data/claims.toml`, the checks in the modules of this package, by chapter.
"""
