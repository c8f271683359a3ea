"""The command `xla-inspect show`, which prints one stage of a program or writes it to a file."""

from __future__ import annotations

from dataclasses import replace
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
"""The package that disassembles a GPU's machine code to SASS."""


UNSAVED = (
    "the capture was saved without machine code; to save it with machine code, run "
    "xla-inspect show SUBJECT --stage capture --machine -o FILE.json"
)
"""The reason why a TPU's saved capture has no machine code."""

LEFT_OUT = ("dense_resource<__elided__>", "constant({...})")
"""The placeholders for large literals in StableHLO and in HLO."""


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print one stage of a program or write it to a file, as far as the compilation got, and return the exit status.

    Raises:
        InspectError: As in `question.read_subject`; or the output file already exists.
        TargetUnavailableError: This machine cannot compile for the target.
    """
    _check_stage(options)
    subject = question.read_subject(question.read_request(options), options.load_limit)
    subject.lines_of = options.lines_of
    target = options.target or next(iter(subject.saved), "cpu")
    # The result is not needed: the call fails if the target does not exist or is unavailable.
    question.choose_targets((), subject, [target])
    kind, is_code = find_entry(target).kind, options.stage == "code"
    capture, gap = _capture(subject, target, options)
    if options.kernel:
        capture = _keep_kernel(capture, options.kernel)
    if is_code and kind == "gpu" and not (gap or capture.error or _has_machine_code(capture)):
        capture = replace(capture, code=capture.code + disassemble(capture))
    if reason := _find_absence(capture, options.stage):
        raise InspectError(reason)
    text = PRINTERS[options.stage](capture) + "\n"
    if is_code and (kind != "tpu" or options.json or options.full):
        answer = explain_code(
            capture.retold(program=subject.name),
            write_subject(options, target),
            kernel=options.kernel,
            full=options.full,
            gap=gap,
        )
        text = f"{write_json(answer)}\n" if options.json else f"{answer}\n\n{text}"
    if options.output:
        write_file(options.output, text)
    else:
        out.write(text)
    if marks := [mark for mark in LEFT_OUT if mark in text]:
        print_note(f"the placeholder {' or '.join(marks)} replaces large literals")
    if capture.error:
        print_note(
            f"compiling for {capture.target} failed: {tell_failure(capture)}\n"
            "the text above is the last result before the error"
        )
        return command_list.NO
    for reason in filter(None, (gap, _find_stand_in(capture, options.stage))):
        print_note(reason)
    return 0


def _find_absence(capture: Capture, stage: str) -> str:
    """Return the reason why a capture lacks a stage, or an empty string."""
    # A stage has the name of the field of a capture, with few exceptions.
    field = _FIELDS.get(stage, stage)
    # An incomplete field may still have contents, which are worth printing.
    reason = capture.missing.get(field, "")
    return f"{capture.program} has no {stage}: {reason}" if reason and not getattr(capture, field, "") else ""


def _find_stand_in(capture: Capture, stage: str) -> str:
    """Return the note about a module that replaces a missing optimized module, or an empty string."""
    return capture.missing.get("after", "") if stage == "after" else ""


_FIELDS = {"memory": "memory_report"}
"""The field of a capture for each stage whose name differs from its field."""


def _check_stage(options: argparse.Namespace) -> None:
    """Raise an error if an option applies only to another stage than the requested one.

    Raises:
        InspectError: An option such as `--json` or `--reasons` is not for this stage.
    """
    if options.stage != "code" and options.kernel:
        message = f"--kernel needs --stage code; the stage {options.stage} has no listings of single kernels"
        raise InspectError(message)
    if options.stage != "code" and (options.json or options.full):
        option = "--json" if options.json else "--full"
        message = f"{option} needs --stage code; for a whole capture as JSON, pass --stage capture"
        raise InspectError(message)
    if options.stage != "capture" and (options.passes or options.reasons or options.machine):
        option = "--passes" if options.passes else "--reasons" if options.reasons else "--machine"
        message = f"{option} needs --stage capture; without it, the stage {options.stage} is already complete"
        raise InspectError(message)


def _has_machine_code(capture: Capture) -> bool:
    return any(piece.language in {"sass", "asm"} for piece in capture.code)


def _capture(subject: Subject, target: str, options: argparse.Namespace) -> tuple[Capture, str]:
    """Return a capture with the requested stage, and the gap on this machine with its remedy, or an empty string.

    Raises:
        InspectError: As in `Subject.capture`; or a saved capture lacks the contents to save.
    """
    if options.stage == "capture":
        return _capture_whole(subject, target, options), ""
    if options.stage != "code":
        return subject.capture(target, passes=options.stage == "passes"), ""
    kind = find_entry(target).kind
    if kind == "tpu":
        capture, refusals = subject.capture_most(target, ("machine",))
        # A saved capture reports no refusal, so without one the machine code was not saved.
        gap = next(iter(refusals.values()), UNSAVED)
        return capture, "" if capture.low_level or capture.error else f"no bundles: {gap}"
    # LLVM's remarks about vectorized loops of the CPU's code are part of the compiler messages.
    capture = subject.capture(target, reasons=kind == "cpu" and not subject.saved)
    return capture, "" if _has_machine_code(capture) else explain_gap(target)


def _capture_whole(subject: Subject, target: str, options: argparse.Namespace) -> Capture:
    """Return the capture to save. Compiler messages refer to the modules after each pass, so it includes those too."""
    passes = options.passes or options.reasons
    capture = subject.capture(target, passes=passes, reasons=options.reasons, machine=options.machine)
    missing = (
        (options.passes and not capture.passes)
        or (options.reasons and not capture.log)
        or (options.machine and not capture.low_level and not _has_machine_code(capture))
    )
    if subject.saved and missing:
        message = f"{subject.name} was saved without these contents; save a new capture of the function itself"
        raise InspectError(message)
    # The saved capture contains all call chains, so that any package's lines can be shown later.
    return capture.own


def _keep_kernel(capture: Capture, name: str) -> Capture:
    """Return a capture with only the code of one kernel.

    Raises:
        InspectError: The capture has no code of this kernel.
    """
    # Triton code is stored under the instruction's name, which has dots. Other code is stored under the symbol.
    code = tuple(piece for piece in capture.code if piece.kernel.replace(".", "_") == name.replace(".", "_"))
    low_level = tuple(module for module in capture.low_level if name in {module.kernel, *module.instructions})
    if not (code or low_level):
        below = [module.kernel for module in capture.low_level]
        # A kernel may have code in several languages, each with its own piece of the same name.
        names = list(dict.fromkeys((*below, *(piece.kernel for piece in capture.code))))
        close = list_nearest(name, names, 3, 0.5) or names[:3]
        message = f"there is no kernel {name!r} with code; the nearest kernels: {', '.join(close) or 'none'}"
        raise InspectError(message)
    return capture.retold(code=code, low_level=low_level)


def explain_gap(target: str) -> str:
    """Return the reason why a target's code cannot be disassembled on this machine, or an empty string."""
    platform = find_entry(target).platform
    if reason := explain_no_assembly(platform):
        return f"no assembly: {reason}"
    if platform == "cuda" and not find_version(NVDISASM):
        return f"no SASS: {NVDISASM} is not installed; run `{install_line('asm')}`"
    return ""


def _list_passes(capture: Capture) -> str:
    """Return the number of pass runs, followed by one line for each pass that changed the module."""
    rows = [f"{number:>3}  {change.pipeline}: {change.name}" for number, change in enumerate(capture.passes, start=1)]
    return "\n".join((f"{len(capture.runs)} pass runs, of which {len(rows)} changed the module:", *rows))


def _describe_launch(launch: Launch) -> str:
    """Return the description of a launch in one line."""
    thunk = launch.thunk
    # Only the thunks of a GPU have a grid.
    size = ""
    if thunk and thunk.grid:
        size = f"  grid {thunk.grid}  threads {thunk.threads}  {thunk.shared_memory} B shared"
    times = {1: "", None: "  runs an unknown number of times"}.get(launch.runs, f"  runs {launch.runs} times")
    # A role that equals the kind would appear twice in the line.
    apart = "" if launch.role in {"kernel", launch.kind} else f"  {launch.role}"
    callback = f"  {HOST_CALL}" if calls_host(launch.instruction) else ""
    return f"{launch.name:<40} {launch.kind}{size}{apart}{times}{callback}"


def _print_code(capture: Capture) -> str:
    """Return all generated code, each piece with a heading. For a TPU, the resources of its kernels come first."""
    pieces = (f"==== {code.kernel} ({code.language})\n{code.text}" for code in capture.code)
    return "\n".join((*filter(None, [write_below(capture)]), *pieces))


PRINTERS: Mapping[str, Callable[[Capture], str]] = {
    "jaxpr": lambda capture: capture.jaxpr,
    "stablehlo": lambda capture: capture.stablehlo,
    "before": lambda capture: capture.before,
    "after": lambda capture: capture.after,
    "passes": _list_passes,
    "buffers": lambda capture: capture.buffers,
    "memory": lambda capture: capture.memory_report,
    "kernels": lambda capture: "\n".join(map(_describe_launch, list_launches(capture))),
    "code": _print_code,
    "capture": lambda capture: capture.to_json(),
}
"""The functions that return a stage of a capture as text, by the stage's name."""
