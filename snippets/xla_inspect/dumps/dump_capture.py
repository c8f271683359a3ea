"""A dumped module as a capture: the contents of its files, and the reasons for missing parts."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import is_scheduled, parse_buffers, parse_live_ranges, parse_report, read_stage
from xla_inspect.captured import Capture, Cost, Memory, Times
from xla_inspect.dumps.absence import explain_absences
from xla_inspect.dumps.file_names import PASS
from xla_inspect.dumps.kernel_code import COLLECT, sort_code
from xla_inspect.dumps.module_texts import ModuleTexts, decode, name_text, read_texts
from xla_inspect.dumps.normalize import Frames, find_changes
from xla_inspect.dumps.pass_record import read_metadata
from xla_inspect.dumps.plain_files import find_texts
from xla_inspect.dumps.target_name import UNKNOWN, add_devices, find_by_text
from xla_inspect.dumps.thunks import read_fusion_log, read_thunks
from xla_inspect.dumps.wrapped_text import count_lines_before
from xla_inspect.errors import HloSyntaxError, InspectError
from xla_inspect.hlo import parse_module
from xla_inspect.targets import find_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from xla_inspect.analysis import StageName
    from xla_inspect.captured import Code, PassChange
    from xla_inspect.dumps.dump_module import DumpedModule
    from xla_inspect.dumps.files import Files

type Disassemble = Callable[[Mapping[str, bytes]], Iterable[Code]]

MOST_PASSES = 2 << 30
"""The maximum total size in bytes of the modules between passes to read."""

_CODE = re.compile(r".*\.(?:ll|ptx|ttir\.txt)|obj-file\..*\.o|ptx|after_codegen\.(?:txt|hlo\.pb)(?:\.gz)?", re.DOTALL)
_PASS = re.compile(r"\d{4,}\.")
_LATER = re.compile(rf"{_CODE.pattern}|\d{{4,}}\..*", re.DOTALL)
_TOTAL, _RANGES = re.compile(r"^Total bytes used: ", re.MULTILINE), re.compile(r"^HloLiveRange ", re.MULTILINE)
_OPTIMIZED = re.compile(r"(?:.*[._])?after_optimizations\.txt")
_INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages)/|/lib/python\d|^<|(?:^|/)(?:jax|jaxlib|tensorflow)/")
_UNSCHEDULED = "the module is not scheduled, so it may not be what runs, and the order is not known"
_NONE = "there is no optimized module in this dump"
_SHOWN: Mapping[StageName, str] = {
    "none": "there is no HLO module in this dump, but only a memory plan or a part of it",
    "before the optimizations": f"{_NONE}; answers are about the compiler's input",
    "between passes": f"{_NONE}; answers are about the last one between passes",
}
"""Descriptions of the substitute for the optimized module, by stage."""

_FLAG = re.compile(r"^(xla_\w+): \"?(.*?)\"?$", re.MULTILINE)


def read_capture(files: Files, module: DumpedModule, disassemble: Disassemble = lambda _: ()) -> Capture:
    """Return a dumped module as a capture; its code and the modules between passes are read on demand.

    Fields for which the dump has no data are empty, and `missing` gives the reason.

    Args:
        files: The set of files.
        module: One of its modules.
        disassemble: Returns the assembly of a CPU's object files, if a disassembler is available.

    Raises:
        InspectError: A file cannot be read, or no file contains a module.
    """
    texts = read_texts(files, module, lambda ending: not _LATER.fullmatch(ending))
    frames, missing = Frames(), dict(texts.problems)
    before = frames.clean(_pick_part(texts.find("before_optimizations.txt"), module))
    optimized, last_pass = _find_after(files, module, texts, before)
    after = frames.clean(optimized)
    plan, live_ranges = split_plan(texts.find("after_optimizations-buffer-assignment.txt"))
    buffers, memory, problem = _read_memory(plan)
    live_ranges = texts.find("after_optimizations-live-range.txt") or live_ranges
    ranges, trouble = _parse(live_ranges, parse_live_ranges, "live ranges")
    live_ranges, report = (live_ranges if ranges else ""), texts.find("after_optimizations-memory-usage-report.txt")
    values, defect = _parse(report if module.stage == "none" else "", parse_report, "memory usage report")
    if module.stage == "none" and not (buffers or live_ranges or values):
        message = f"{module.plan}: {problem or trouble or defect}"
        raise InspectError(message)
    # Some dumps have no file that names the hardware, but the module's text may show its compiler.
    target = module.target if module.target != UNKNOWN else add_devices(find_by_text(after), module.devices)
    record = read_metadata(texts.metadata)
    capture = Capture(
        program=module.name,
        target=target,
        versions={},
        options=dict(_FLAG.findall(texts.find("debug_options"))),
        source_file="",
        source="",
        jaxpr="",
        stablehlo=texts.find("module.mlir"),
        stablehlo_locations=texts.find("module.mlir"),
        before=before,
        after=after,
        runs=record.runs,
        passes=(),
        buffers=buffers,
        live_ranges=live_ranges,
        memory=memory,
        cost=Cost(0, 0, 0, "", {}),
        thunks=read_thunks(texts.find("thunk_sequence.txt"), texts.find("thunk_metadata.txt")),
        fusion_log=read_fusion_log(texts.find("priority_fusion_dump.txt")),
        frames=frames.chains,
        # A dump names the source files but does not contain them.
        sources=dict.fromkeys(_list_sources(frames), ""),
        memory_report=report,
        times=Times(0, 0, sum(record.phases.values()), record.seconds, record.phases),
        is_stepped=bool(module.between) and not _find_excess(files, module),
    )
    excess = _find_excess(files, module)
    stage = read_stage(capture.after, module.stage)
    others = {"buffers": problem, "live_ranges": trouble, "passes": excess}
    missing = explain_absences(capture, module, texts.problems, others)
    if stage != "optimized":
        missing["stage"] = f"{stage}: {last_pass}" if last_pass else stage
    if stage != "optimized" or not is_scheduled(capture.after):
        missing["after"] = _SHOWN.get(stage, _UNSCHEDULED)
    return _read_later(capture.retold(missing=missing), files, module, frames, disassemble)


def check_module(files: Files, module: DumpedModule, capture: Capture) -> None:
    """Check that the module of a capture can be parsed.

    Raises:
        InspectError: The module cannot be parsed; the message has the line number in the original file, although the
            capture omits that file's tables.
    """
    if module.stage == "none":
        return
    try:
        capture.module  # noqa: B018 - what cannot be read is told before anything is asked
    except InspectError as error:
        texts = read_texts(files, module, lambda ending: not _LATER.fullmatch(ending))
        before = _pick_part(texts.find("before_optimizations.txt"), module)
        reason: Exception = error
        text = _find_after(files, module, texts, before)[0]
        # A module may begin in the middle of its file, and empty lines in front of it keep its line numbers.
        front = max((count_lines_before(whole, text) for whole in texts.files.values()), default=0)
        try:
            parse_module("\n" * front + text)
        except InspectError as located:
            reason = located
        message = f"{module.after or module.before or module.key}: {reason}"
        raise InspectError(message) from error


def _read_later(
    capture: Capture, files: Files, module: DumpedModule, frames: Frames, disassemble: Disassemble
) -> Capture:
    """Return a capture that reads its passes and code on demand."""

    @cache
    def read_passes() -> Mapping[str, Any]:
        return {"passes": _read_passes(files, module, capture, frames)}

    @cache
    def read_code() -> Mapping[str, Any]:
        code_texts = read_texts(files, module, lambda ending: bool(_CODE.fullmatch(ending)))
        collect = COLLECT.get(find_entry(capture.target).kind)
        return {"code": sort_code((*(collect(code_texts) if collect else ()), *disassemble(code_texts.objects)))}

    def read_after() -> Mapping[str, Any]:
        message = f"{module.name} has no HLO module, but only a memory plan or a part of it, which answers memory alone"
        raise InspectError(message)

    later = {"passes": read_passes, "code": read_code} | ({"after": read_after} if capture.is_plan else {})
    for name in later:
        # A capture reads a field on demand only while it has no value.
        del capture.__dict__[name]
    return capture.retold(_later=later)


def _list_sources(frames: Frames) -> list[str]:
    """Return the source files in the call chains, without installed ones if there are others."""
    sources = sorted({frame.file for chain in frames.chains.values() for frame in chain})
    return [file for file in sources if not _INSTALLED.search(file)] or sources


def _find_after(files: Files, module: DumpedModule, texts: ModuleTexts, before: str) -> tuple[str, str]:
    """Return the optimized module or the closest substitute, and the pass that the substitute was dumped after, or "".

    Raises:
        InspectError: There is neither.
    """
    optimized = next((text for name, text in texts.files.items() if _OPTIMIZED.fullmatch(name)), "")
    if optimized:
        return _pick_part(optimized, module), ""
    between = module.between
    if between:
        ending = [*between][-1]
        ((_, data),) = files.read_many([between[ending]])
        match = PASS.fullmatch(ending)
        text = _pick_part(decode(data, ending)[0], module)
        name = (match["name"] or match["before"]) if match else ending
        return text, f"the start of {match['pipeline']}" if match and name == "pipeline-start" else name
    if before or module.stage == "none":
        return before, ""
    problem = next(iter(texts.problems.values()), "there is no module among its files")
    message = f"{module.key}: {problem}"
    raise InspectError(message)


def _pick_part(text: str, module: DumpedModule) -> str:
    """Return the text of a module from a file that may contain several modules."""
    # A protobuf has its modules apart, and its parts were chosen when its file was read.
    is_text = module.number is None and not any(".hlo.pb" in ending for ending in module.files)
    return find_texts(text)[module.part] if is_text and text else text


def _find_excess(files: Files, module: DumpedModule) -> str:
    """Return the reason that there are too many modules between passes to read, or an empty string."""
    total = sum(map(files.size, module.between.values()))
    if total <= MOST_PASSES:
        return ""
    return f"the modules between passes take {total:,} bytes, and no more than {MOST_PASSES:,} are read"


def _read_passes(files: Files, module: DumpedModule, capture: Capture, frames: Frames) -> tuple[PassChange, ...]:
    """Return the passes that changed a module, or none if `capture.missing` has a reason for their absence."""
    if "passes" in capture.missing:
        return ()
    dumped: Iterable[tuple[str, str | None]]
    # Each read of a compressed tar file unpacks all data before it, so these files are read in one pass.
    if files.is_sequential:
        between = dict(read_texts(files, module, lambda ending: bool(_PASS.match(ending))).passes)
        dumped = ((name_text(ending), between.get(name_text(ending))) for ending in module.between)
    else:
        dumped = _yield_passes(files, module)
    return find_changes(dumped, capture.before, capture.runs, frames)


def _yield_passes(files: Files, module: DumpedModule) -> Iterator[tuple[str, str | None]]:
    """Yield the name and text of each module between passes, in order, with None for an unreadable text."""
    for ending, path in module.between.items():
        text = None
        # A module that cannot be read is no error: its pass is reported together with the next one.
        with suppress(InspectError):
            text = decode(files.read(path), ending)[0]
        yield name_text(ending), text


def split_plan(text: str) -> tuple[str, str]:
    """Return the buffer assignment and the live ranges from one file, in the format that XLA used until 2025.

    Between the two parts, the file has the total size, and lists each value again with its uses.
    """
    total, ranges = _TOTAL.search(text), _RANGES.search(text)
    plan = text[: total.start()] if total else text[: ranges.start()] if ranges else text
    return (plan.rstrip("\n") + "\n" if plan else ""), text[ranges.start() :] if ranges else ""


def _parse[Part](text: str, parse: Callable[[str], Part], what: str) -> tuple[Part | None, str]:
    """Return a parsed part of a memory plan and an empty string, or None and the reason that it cannot be parsed."""
    try:
        return (parse(text) if text else None), ""
    except InspectError as error:
        is_cut = isinstance(error, HloSyntaxError) and error.line > text.rstrip().count("\n")
        return None, f"the {what} in this dump cannot be read{' (it is cut off)' if is_cut else ''}: {error}"


def _read_memory(text: str) -> tuple[str, Memory, str]:
    """Return the buffer assignment, the bytes that a device needs, and ""; or empty values and the parser's error."""
    assignment, problem = _parse(text, parse_buffers, "buffer assignment")
    if assignment is None:
        return "", Memory(0, 0, 0, 0, 0, 0), problem
    # Colors other than 0 stand for other memory spaces.
    main = [
        allocation for allocation in assignment.allocations if allocation.color == 0 and not allocation.is_thread_local
    ]
    outputs = [allocation for allocation in main if allocation.is_output or allocation.is_live_out]
    return (
        text,
        Memory(
            arguments=sum(allocation.size for allocation in main if allocation.parameter is not None),
            outputs=sum(allocation.size for allocation in outputs),
            aliased=sum(allocation.size for allocation in outputs if allocation.parameter is not None),
            temporaries=sum(allocation.size for allocation in main if allocation.kind == "temporary"),
            generated_code=0,
            peak=0,
        ),
        "",
    )
