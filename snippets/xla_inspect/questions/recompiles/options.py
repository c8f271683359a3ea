"""`xla-inspect recompiles run SCRIPT.py ARGS`: what a script lets JAX compile, and why again; or what a dump holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.questions import recompiles as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.subject import Subject

USUAL: Sequence[str] = ()
"""No target: what a script compiles, it compiles for this machine's CPU."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how often a function may be compiled."""
    parser.set_defaults(whole=True)
    parser.add_argument(
        "--at-most", metavar="N", type=int, help="the answer is no where a function is compiled oftener"
    )


def ask(subject: Subject, _: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield the answer."""
    if subject.modules:
        yield package.find_repeats(subject.name, subject.modules, " ".join(options.subject), options.at_most)
    if subject.script is not None:
        yield package.explain_recompiles(subject.script, options.at_most, is_timed=not options.no_times)
