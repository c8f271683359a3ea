"""`xla-inspect report`: one HTML file in which to step through the passes of a function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.analysis import tell_failure
from xla_inspect.captured import Captures
from xla_inspect.commands import command_list, question
from xla_inspect.compilation import explain_no_assembly
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.output_file import check_output, write_file
from xla_inspect.subject import Request, read_saved
from xla_inspect.targets import USUAL, find_entry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject


KEPT = {"machine": "the machine code of GPUs and TPUs", "reasons": "what the compiler said of its reasons"}
"""What a capture can hold besides, by the name under which `Subject.capture` takes it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked about, the targets, and where to write."""
    question.add_arguments(parser)
    how = parser.add_argument_group("its form")
    how.add_argument("-o", "--output", type=Path, metavar="FILE.html", help="default: FUNCTION.html")
    for name, what in KEPT.items():
        how.add_argument(f"--no-{name}", action="store_true", help=f"leave out {what}, which takes one more compile")
    how.add_argument(
        "--beside",
        metavar="SAVED.json",
        action="append",
        default=[],
        help="a saved capture to stand beside it, as of another release or from before an edit; may repeat",
    )
    how.add_argument("--force", action="store_true", help="overwrite a file that is there")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Write the explorer of a program, say what was written and what is missing from it, and return the exit status.

    Raises:
        InspectError: As `question.read_subject`; or no target could be compiled for, or the file is there already or
            cannot be written.
    """
    from xla_inspect.report.explorer import write_report

    request = question.read_request(options)
    beside = read_beside(options.beside)
    subject = question.read_subject(request, options.load_limit)
    subject.lines_of = options.lines_of
    path = options.output or Path(re.sub(r"[^\w.-]+", "_", subject.name) + ".html")
    check_output(path, force=options.force)
    targets, missing = question.choose_targets(USUAL, subject, options.target)
    wanted = tuple(name for name in KEPT if not getattr(options, f"no_{name}"))
    captures, lacking = capture_all(subject, targets, {"donate_argnums": ()} if request.donate else {}, wanted)
    left_out = lacking + [f"{target} is left out: {reason}" for target, reason in captures.missing.items()]
    if not captures:
        raise InspectError("\n".join(left_out))
    if reason := explain_no_assembly():
        left_out += [f"{name} has no assembly: {reason}" for name in captures if find_entry(name).kind == "cpu"]
    donated = capture_all(subject, tuple(captures), {})[0] if request.donate else None
    write_file(path, write_report(captures, donated, beside=beside))
    out.writelines(f"{line}\n" for line in (*missing, *left_out))
    out.write(f"{path}: {path.stat().st_size:,} bytes; open it in a browser\n")
    return command_list.MISSING if missing else 0


def read_beside(paths: Sequence[str]) -> dict[str, Capture]:
    """Return the captures that are to stand beside the program, by how a reader names them: program and file.

    Raises:
        InspectError: A file cannot be read, or holds no capture.
    """
    found: dict[str, Capture] = {}
    for path in paths:
        for saved in (read_saved(Request(words=(path,))).saved or {}).values():
            found[f"{saved.program} ({Path(path).name})"] = saved
    return found


def capture_all(
    subject: Subject, targets: Sequence[str], settings: dict[str, Any], wanted: Sequence[str] = ()
) -> tuple[Captures, list[str]]:
    """Return the captures of a program with its passes, a gap where a compiler gives up, and what they lack.

    Args:
        subject: The program.
        targets: The targets.
        settings: As in `Subject.capture`.
        wanted: Of `KEPT`, what to capture besides; where that cannot be had the capture is without, and it is said.
    """
    captures, missing = {}, {}
    lacking: list[str] = []
    for target in targets:
        named = target if subject.call is None else subject.name_target(target)
        try:
            captured, refusals = subject.capture_most(named, wanted, passes=True, **settings)
            for name, error in refusals.items():
                reason = error.reason if isinstance(error, TargetUnavailableError) else error
                lacking.append(f"{named} is without {KEPT[name]}: {reason}")
        except InspectError:
            raise
        except RuntimeError as error:
            missing[named] = str(error).partition("\n")[0]
            continue
        if captured.error:
            missing[named] = tell_failure(captured)
        else:
            captures[named] = captured
    return Captures(captures, missing, (*captures, *missing)), lacking
