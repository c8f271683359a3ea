"""`xla-inspect recompiles run SCRIPT.py ARGS`: the compilations of a script or a dump, and the causes of repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.questions import recompiles as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.subject import Subject

USUAL: Sequence[str] = ()
"""No target, since a script compiles for this machine's CPU."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the option `--at-most N`, and make the command run whole scripts."""
    # Recompilations only show in a run of the whole script, not in one call.
    parser.set_defaults(whole=True)
    parser.add_argument(
        "--at-most", metavar="N", type=int, help="exit with status 1 if a function is compiled more than N times"
    )


def ask(subject: Subject, _: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield the answer about repeated modules of a dump, about a script's recompilations, or both."""
    if subject.modules:
        yield package.find_repeats(subject.name, subject.modules, " ".join(options.subject), options.at_most)
    if subject.script is not None:
        yield package.explain_recompiles(subject.script, options.at_most, is_timed=not options.no_times)
