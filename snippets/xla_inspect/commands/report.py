"""`xla-inspect report`: one HTML file in which to step through the passes of a function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.captured import Captures
from xla_inspect.commands import command_line, question
from xla_inspect.compilation import USUAL, explain_no_assembly
from xla_inspect.errors import InspectError
from xla_inspect.targets import find

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.subject import Subject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked about, the targets, and where to write."""
    question.add_arguments(parser)
    how = parser.add_argument_group("its form")
    how.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="default: FUNCTION.html")
    how.add_argument("--force", action="store_true", help="overwrite a file that is there")


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Write the explorer of a program, say what was written and what is missing from it, and return the exit status.

    Raises:
        InspectError: As `question.read_subject`; or no target could be compiled for, or the file is there already or
            cannot be written.
    """
    from xla_inspect.report.explorer import write_report

    request = question.read_request(options)
    if options.output:
        question.check_output(options.output, force=options.force)
    subject = question.read_subject(request, options.load_limit)
    path = options.output or Path(re.sub(r"[^\w.-]+", "_", subject.name) + ".html")
    question.check_output(path, force=options.force)
    targets, missing = question.choose_targets(USUAL, subject, options.target)
    captures = capture_all(subject, targets, {"donate_argnums": ()} if request.donate else {})
    left_out = [f"{target} is left out: {reason}" for target, reason in captures.missing.items()]
    if not captures:
        raise InspectError("\n".join(left_out))
    if reason := explain_no_assembly():
        left_out += [f"{name} has no assembly: {reason}" for name in captures if find(name).kind == "cpu"]
    donated = capture_all(subject, tuple(captures), {}) if request.donate else None
    question.write_file(path, write_report(captures, donated))
    out.writelines(f"{line}\n" for line in (*missing, *left_out))
    out.write(f"{path}: {path.stat().st_size:,} bytes; open it in a browser\n")
    return command_line.MISSING if missing else 0


def capture_all(subject: Subject, targets: Sequence[str], settings: dict[str, Any]) -> Captures:
    """Return the captures of a program with its passes, and a gap where a compiler gives up."""
    captures, missing = {}, {}
    for target in targets:
        named = target if subject.call is None else subject.name_target(target)
        try:
            captured = subject.capture(named, passes=True, **settings)
        except InspectError:
            raise
        except RuntimeError as error:
            missing[named] = str(error).partition("\n")[0]
            continue
        if captured.error:
            missing[named] = captured.error.partition("\n")[0]
        else:
            captures[named] = captured
    return Captures(captures, missing, (*captures, *missing))
