"""A reader that makes a capture from the dumps and results of the probe, which compiles with another JAX release."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.captured import Cost, Memory, PassRun, Times
from xla_inspect.dumps import Files, list_dumped, name_run, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.hlo import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture

PIPELINE = re.compile(r"Running HLO pass pipeline on module (?P<module>[^:\s]+): (?P<name>.+)$")
PASS = re.compile(r"^\S*.*\]\s+HLO pass (?P<name>\S+)$")
SPENT = re.compile(r"HLO pass: (?P<name>\S+) time: [^(]*\((?P<microseconds>\d+) us\)")
PLACE = re.compile(r'source_file="(?P<file>(?:[^"\\]|\\.)*)"(?: source_line=(?P<line>\d+))?(?: source_end_line=\d+)?')


def read_probe(task: Mapping[str, Any], result: Mapping[str, Any], versions: Mapping[str, str]) -> Capture:
    """Return the capture of a program that the probe has compiled with a JAX release, read from its output.

    Args:
        task: The task, whose folder has the dumps and the log.
        result: The probe's result for the task.
        versions: The versions of the packages that compiled.

    Raises:
        InspectError: The release wrote no dump of the program.
    """
    folder = Path(task["folder"])
    files = Files.from_folder(folder / "dumps")
    programs = [module for module in list_dumped(files) if module.before and module.after]
    if not programs:
        message = f"the compiler of this release left no dump of {task['name']!r}"
        raise InspectError(message)
    # The folder may also have JAX's helper programs, which have fewer files.
    dumped = read_capture(files, max(programs, key=lambda module: len(module.files)))
    places = _Places(dumped.frames)
    before, after = places.number(dumped.before), places.number(dumped.after)
    passes = tuple(replace(change, text=places.number(change.text)) for change in dumped.passes)
    memory = result["memory"]
    names = ("arguments", "outputs", "aliased", "temporaries", "code", "peak")
    capture = dumped.retold(
        program=task["name"].rpartition(".")[2],
        target=task["target"],
        versions=dict(versions),
        options=dict(task["xla"]),
        jaxpr=result["jaxpr"],
        stablehlo=result["stablehlo"],
        stablehlo_locations="",
        before=before,
        after=after,
        # Some compilers write no record of their passes, so the log is read instead.
        runs=dumped.runs or read_log(folder / "log", _name_module(before))[0],
        passes=passes,
        memory=_choose_memory(Memory(*(memory.get(name, 0) for name in names)) if memory else None, dumped.memory),
        cost=Cost((result["cost"] or {}).get("flops", 0.0), 0.0, 0.0, "executable", {}),
        times=Times(*result["seconds"]),
        frames=places.frames,
    )
    root = Path(task["root"])
    names_in_chains = {frame.file for chain in capture.frames.values() for frame in chain}
    sources = {}
    # Files outside the project belong to JAX or to the probe.
    for file in sorted(name for name in names_in_chains if not Path(name).is_absolute()):
        with suppress(OSError, UnicodeDecodeError):
            if (root / file).is_file():
                sources[file] = (root / file).read_text(encoding="utf-8")
    return capture.retold(sources=sources)


def _choose_memory(reported: Memory | None, plan: Memory) -> Memory:
    """Return the executable's memory statistics, or those of the buffer assignment if the former are incomplete.

    Releases before 0.4.29 omit a CPU's temporaries, and older ones have no statistics for a GPU that is not present.
    """
    if reported is None:
        return plan
    return reported if reported.temporaries else replace(reported, temporaries=plan.temporaries)


class _Places:
    """The source locations of instructions, including those of older releases, which store file and line directly."""

    def __init__(self, frames: Mapping[int, tuple[Frame, ...]]) -> None:
        self.frames = dict(frames)
        self._known: dict[tuple[str, int], int] = {}

    def number(self, text: str) -> str:
        """Return a module with a frame's number in place of each file and line, and add these frames to `frames`."""
        if "source_file=" not in text:
            return text

        def name(match: re.Match[str]) -> str:
            place = (match["file"], int(match["line"] or 0))
            if place not in self._known:
                self._known[place] = max(self.frames, default=0) + 1
                self.frames[self._known[place]] = (Frame(place[0], "", place[1], 1, place[1], 1),)
            return f"stack_frame_id={self._known[place]}"

        return PLACE.sub(name, text)


def read_log(path: Path, module: str) -> tuple[tuple[PassRun, ...], dict[str, float]]:
    """Return the runs of passes that a log lists for a module, in order, and the total seconds by pass name.

    Both are empty if the log cannot be read.
    """
    runs: list[PassRun] = []
    seconds: dict[str, float] = {}
    pipeline, ours = "", False
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if match := PIPELINE.search(line):
                ours, pipeline = match["module"] == module, match["name"]
            # Lines about other modules are skipped, because their passes are not the program's.
            elif ours and (match := SPENT.search(line)):
                seconds[match["name"]] = seconds.get(match["name"], 0.0) + int(match["microseconds"]) / 1e6
            elif ours and (match := PASS.search(line)):
                runs.append(name_run(pipeline, match["name"], changed=False))
    return tuple(runs), seconds


def _name_module(text: str) -> str:
    match = re.match(r"HloModule ([^\s,]+)", text)
    return match[1] if match else ""
