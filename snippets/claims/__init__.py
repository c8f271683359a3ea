"""What is often claimed about XLA, each claim with the check that decides it.

The claims stand in `docs/data/claims.toml`, the checks in the modules of this package, by chapter.
"""
