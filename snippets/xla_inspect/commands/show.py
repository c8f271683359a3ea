"""`xla-inspect show`: one stage of a function, in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.analysis import HOST_CALL, calls_host, list_launches, tell_failure
from xla_inspect.answers import write_json
from xla_inspect.commands import command_list, question
from xla_inspect.compilation import disassemble, explain_no_assembly
from xla_inspect.errors import InspectError
from xla_inspect.installation import install_line
from xla_inspect.output_file import write_file
from xla_inspect.questions.code import explain_code
from xla_inspect.report import write_below
from xla_inspect.spelling import list_nearest
from xla_inspect.subject import write_subject
from xla_inspect.targets import find_entry, find_version
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

NVDISASM = "nvidia-cuda-nvdisasm"
"""What turns a GPU's machine code into SASS."""


UNSAVED = (
    "the capture was saved without its machine code; xla-inspect show SUBJECT --stage capture --machine -o FILE.json "
    "saves it with"
)
"""What is said of a TPU's capture that lacks it."""

LEFT_OUT = ("dense_resource<__elided__>", "constant({...})")
"""What stands in a text in the place of a large literal: in StableHLO, and in HLO."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked about, the target and the stage."""
    question.add_arguments(parser, many=False)
    how = parser.add_argument_group("its form")
    how.add_argument("--stage", choices=STAGES, default="after", help="default: %(default)s")
    how.add_argument("--kernel", metavar="NAME", default="", help="of the stage code, that of this kernel alone")
    how.add_argument("--json", action="store_true", help="of the stage code: what the code takes and does, as JSON")
    how.add_argument("--full", action="store_true", help="of the stage code: each kernel, and each step below HLO")
    how.add_argument("--reasons", action="store_true", help="of the stage capture: what the compiler said, for why")
    how.add_argument("--machine", action="store_true", help="of the stage capture: SASS of GPUs, bundles of TPUs")
    how.add_argument("-o", "--output", metavar="FILE", type=Path, help="write it there (default: print it)")
    how.add_argument("--force", action="store_true", help="overwrite a file that is there")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print one stage of a program, as far as the compiler came, and return the exit status.

    Raises:
        InspectError: As `question.read_subject`; or the file is there already.
        TargetUnavailableError: This machine cannot compile for the target.
    """
    _check_stage(options)
    subject = question.read_subject(question.read_request(options), options.load_limit)
    subject.lines_of = options.lines_of
    target = options.target or next(iter(subject.saved), "cpu")
    question.choose_targets((), subject, [target])
    kind, is_code = find_entry(target).kind, options.stage == "code"
    compiled, gap = _capture(subject, target, options)
    if options.kernel:
        compiled = _keep_kernel(compiled, options.kernel)
    if is_code and kind == "gpu" and not (gap or compiled.error or _has_sass(compiled)):
        compiled = replace(compiled, code=compiled.code + disassemble(compiled))
    if reason := _find_absence(compiled, options.stage):
        raise InspectError(reason)
    text = STAGES[options.stage](compiled) + "\n"
    if is_code and (kind != "tpu" or options.json or options.full):
        named = compiled.retold(program=subject.name)
        asked = write_subject(options, target)
        told = explain_code(named, asked, kernel=options.kernel, full=options.full, gap=gap)
        text = f"{write_json(told)}\n" if options.json else f"{told}\n\n{text}"
    if options.output:
        write_file(options.output, text)
    else:
        out.write(text)
    if marks := [mark for mark in LEFT_OUT if mark in text]:
        print_note(f"large literals are left out: {' or '.join(marks)} stands in their place")
    if compiled.error:
        print_note(f"the compiler for {compiled.target} gives up; what it left is above: {tell_failure(compiled)}")
        return command_list.NO
    for reason in filter(None, (gap, _find_stand_in(compiled, options.stage))):
        print_note(reason)
    return 0


def _find_absence(compiled: Capture, stage: str) -> str:
    """Return why a capture has nothing of a stage, of one that says so, or an empty string."""
    field = _FIELDS.get(stage, stage)
    reason = compiled.missing.get(field, "")
    return f"{compiled.program} has no {stage}: {reason}" if reason and not getattr(compiled, field, "") else ""


def _find_stand_in(compiled: Capture, stage: str) -> str:
    """Return what is shown in the place of the optimized module, or an empty string."""
    return compiled.missing.get("after", "") if stage == "after" else ""


_FIELDS = {"memory": "memory_report"}
"""The field of a capture that a stage is, where that has another name."""


def _check_stage(options: argparse.Namespace) -> None:
    """Do nothing where the options are of the stage that is asked for.

    Raises:
        InspectError: One of them is of another stage.
    """
    if options.stage != "code" and (options.json or options.full):
        named = "--json" if options.json else "--full"
        message = f"{named} is of the stage code; a whole capture as JSON is the stage capture"
        raise InspectError(message)
    if options.stage != "capture" and (options.reasons or options.machine):
        named = "--reasons" if options.reasons else "--machine"
        message = f"{named} says what to save, with --stage capture; the stage {options.stage} takes what it needs"
        raise InspectError(message)


def _has_sass(compiled: Capture) -> bool:
    return any(piece.language == "sass" for piece in compiled.code)


def _capture(subject: Subject, target: str, options: argparse.Namespace) -> tuple[Capture, str]:
    """Return a capture that holds a stage, and what of it cannot be had here and what to do about it.

    Raises:
        InspectError: As `Subject.capture`; or a capture that was saved is to be saved with more than it holds.
    """
    if options.stage == "capture":
        return _capture_whole(subject, target, options), ""
    if options.stage != "code":
        return subject.capture(target, passes=options.stage == "passes"), ""
    kind = find_entry(target).kind
    if kind == "tpu":
        compiled, refusals = subject.capture_most(target, ("machine",))
        gap = next(iter(refusals.values()), UNSAVED)
        return compiled, "" if compiled.low_level or compiled.error else f"no bundles: {gap}"
    # Of the CPU's code LLVM tells which loops it made vectors of, and why not of others.
    compiled = subject.capture(target, reasons=kind == "cpu" and not subject.saved)
    return compiled, "" if _has_sass(compiled) else explain_gap(target)


def _capture_whole(subject: Subject, target: str, options: argparse.Namespace) -> Capture:
    """Return the capture that is saved: with the module after each pass where reasons are kept, which name them."""
    compiled = subject.capture(target, passes=options.reasons, reasons=options.reasons, machine=options.machine)
    if subject.saved and ((options.reasons and not compiled.log) or (options.machine and not _has_machine(compiled))):
        message = f"{subject.name} is a capture that was saved without that: save it anew from the program"
        raise InspectError(message)
    # What is saved keeps all call chains.
    return compiled.own


def _has_machine(compiled: Capture) -> bool:
    return bool(compiled.low_level) or any(piece.language in {"sass", "asm"} for piece in compiled.code)


def _keep_kernel(compiled: Capture, name: str) -> Capture:
    """Return a capture with the code of one kernel alone.

    Raises:
        InspectError: It has none.
    """
    # An instruction's name has dots where a symbol has not, and Triton's form is kept under the former.
    code = tuple(piece for piece in compiled.code if piece.kernel.replace(".", "_") == name.replace(".", "_"))
    low_level = tuple(each for each in compiled.low_level if name in {each.kernel, *each.instructions})
    if not (code or low_level):
        below = [each.kernel for each in compiled.low_level]
        known = list(dict.fromkeys((*below, *(piece.kernel for piece in compiled.code))))
        close = list_nearest(name, known, 3, 0.5) or known[:3]
        message = f"there is no code of {name!r}; there is that of {', '.join(close) or 'none'}"
        raise InspectError(message)
    return compiled.retold(code=code, low_level=low_level)


def explain_gap(target: str) -> str:
    """Return what of a target's code cannot be disassembled here and what to do about it, or an empty string."""
    kind = find_entry(target).kind
    if kind == "cpu" and (reason := explain_no_assembly()):
        return f"no assembly: {reason}"
    if kind == "gpu" and not find_version(NVDISASM):
        return f"no SASS: {NVDISASM} not installed; run `{install_line('asm')}`"
    return ""


def _list_passes(compiled: Capture) -> str:
    """Return a line per pass that changed the module."""
    changed = [
        f"{number:>3}  {change.pipeline}: {change.name}" for number, change in enumerate(compiled.passes, start=1)
    ]
    return "\n".join((f"{len(compiled.runs)} runs of passes; the module differs after these:", *changed))


def _describe_launch(launch: Launch) -> str:
    """Return a launch in one line."""
    thunk = launch.thunk
    size = ""
    if thunk and thunk.grid:
        size = f"  grid {thunk.grid}  threads {thunk.threads}  {thunk.shared_memory} B shared"
    times = {1: "", None: "  runs an unknown number of times"}.get(launch.runs, f"  runs {launch.runs} times")
    apart = "" if launch.role in {"kernel", launch.kind} else f"  {launch.role}"
    callback = f"  {HOST_CALL}" if calls_host(launch.instruction) else ""
    return f"{launch.name:<40} {launch.kind}{size}{apart}{times}{callback}"


def _print_code(compiled: Capture) -> str:
    """Return all generated code, each piece under a line that names it; of a TPU's kernels first what each takes."""
    pieces = (f"==== {code.kernel} ({code.language})\n{code.text}" for code in compiled.code)
    return "\n".join((*filter(None, [write_below(compiled)]), *pieces))


STAGES: Mapping[str, Callable[[Capture], str]] = {
    "jaxpr": lambda compiled: compiled.jaxpr,
    "stablehlo": lambda compiled: compiled.stablehlo,
    "before": lambda compiled: compiled.before,
    "after": lambda compiled: compiled.after,
    "passes": _list_passes,
    "buffers": lambda compiled: compiled.buffers,
    "memory": lambda compiled: compiled.memory_report,
    "kernels": lambda compiled: "\n".join(map(_describe_launch, list_launches(compiled))),
    "code": _print_code,
    "capture": lambda compiled: compiled.to_json(),
}
"""What it can print, by the name of its stage."""
