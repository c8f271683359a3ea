"""Checks of common claims about XLA, the rule that judges their findings, and the cards that show the claims.

The claims are in `docs/data/claims.toml`, the checks in the modules of this package, by chapter.
"""
