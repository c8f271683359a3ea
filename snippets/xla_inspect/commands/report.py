"""The command `xla-inspect report`, which writes one HTML file to step through the passes of a function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.analysis import tell_failure
from xla_inspect.captured import Captures
from xla_inspect.commands import command_list, question
from xla_inspect.commands.command_arguments import KEPT
from xla_inspect.compilation import explain_no_assembly
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.output_file import check_output, write_file
from xla_inspect.questions.numbers import describe_marks, numbers
from xla_inspect.subject import Request, read_saved
from xla_inspect.targets import USUAL, find_entry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Write the HTML explorer of a program's passes to a file, print its gaps, and return the exit status.

    Raises:
        InspectError: As in `question.read_subject`; or every target is unavailable, or the file already exists or
            cannot be written.
    """
    from xla_inspect.report.explorer import write_report

    request = question.read_request(options)
    beside = read_beside(options.beside)
    subject = question.read_subject(request, options.load_limit)
    subject.lines_of = options.lines_of
    # A subject's name may contain characters that a file name cannot have.
    path = options.output or Path(re.sub(r"[^\w.-]+", "_", subject.name) + ".html")
    # An existing file is reported before the compilation, which may take minutes.
    check_output(path, force=options.force)
    targets, missing = question.choose_targets(USUAL, subject, options.target)
    contents = tuple(name for name in KEPT if not getattr(options, f"no_{name}"))
    captures, lacking = capture_all(subject, targets, {"donate_argnums": ()} if request.donate else {}, contents)
    gaps = lacking + [f"{target} omitted: {reason}" for target, reason in captures.missing.items()]
    if not captures:
        raise InspectError("\n".join(gaps))
    if reason := explain_no_assembly():
        gaps += [f"{name} has no assembly: {reason}" for name in captures if find_entry(name).kind == "cpu"]
    # The report compares the memory with and without donation.
    donated = capture_all(subject, tuple(captures), {})[0] if request.donate else None
    marks = {}
    for target, capture in captures.items() if options.numbers else ():
        try:
            marks[target] = describe_marks(numbers(capture))
        except InspectError as error:
            gaps.append(f"{target} has no marks on passes that change bits: {error}")
    write_file(path, write_report(captures, donated, beside=beside, numbers=marks))
    out.writelines(f"{line}\n" for line in (*missing, *gaps))
    out.write(f"{path} with {path.stat().st_size:,} bytes was written; open it in a browser\n")
    return command_list.MISSING if missing else 0


def read_beside(paths: Sequence[str]) -> dict[str, Capture]:
    """Return the captures to show next to the program, by labels with program and file.

    Raises:
        InspectError: A file cannot be read, or has no capture.
    """
    captures: dict[str, Capture] = {}
    # Two files may hold the same program, so the label includes the name of the file.
    for path in paths:
        for capture in (read_saved(Request(words=(path,))).saved or {}).values():
            captures[f"{capture.program} ({Path(path).name})"] = capture
    return captures


def capture_all(
    subject: Subject, targets: Sequence[str], settings: dict[str, Any], contents: Sequence[str] = ()
) -> tuple[Captures, list[str]]:
    """Compile a program for each target, and return the captures with their passes and notes on missing contents.

    The captures also have the reason for each target whose compilation failed.

    Args:
        subject: The program.
        targets: The targets.
        settings: As in `Subject.capture`.
        contents: The optional contents to capture, from `KEPT`. Unavailable contents are omitted and reported.
    """
    captures, missing = {}, {}
    lacking: list[str] = []
    for target in targets:
        # A saved capture is looked up by its own target, which already has the full name.
        key = target if subject.call is None else subject.name_target(target)
        try:
            capture, refusals = subject.capture_most(key, contents, passes=True, **settings)
            for name, error in refusals.items():
                reason = error.reason if isinstance(error, TargetUnavailableError) else error
                lacking.append(f"{key} lacks {KEPT[name]}: {reason}")
        # An error in the input affects every target. Other errors may affect only this one.
        except InspectError:
            raise
        except RuntimeError as error:
            missing[key] = str(error).partition("\n")[0]
            continue
        if capture.error:
            missing[key] = tell_failure(capture)
        else:
            captures[key] = capture
    return Captures(captures, missing, (*captures, *missing)), lacking
