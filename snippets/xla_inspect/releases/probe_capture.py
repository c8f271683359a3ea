"""Read what the probe left of a program under a release, as the releases of several years write it, into a capture."""

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
    """Return the capture of a task that compiled.

    Args:
        task: The task, whose folder has the dumps and the log.
        result: What the probe says of it.
        versions: The packages that compiled.

    Raises:
        InspectError: The release left no dump of the program.
    """
    folder = Path(task["folder"])
    files = Files.from_folder(folder / "dumps")
    programs = [module for module in list_dumped(files) if module.before and module.after]
    if not programs:
        message = f"the compiler of this release left no dump of {task['name']!r}"
        raise InspectError(message)
    found = read_capture(files, max(programs, key=lambda module: len(module.files)))
    places = _Places(found.frames)
    before, after = places.number(found.before), places.number(found.after)
    passes = tuple(replace(each, text=places.number(each.text)) for each in found.passes)
    memory = result["memory"]
    names = ("arguments", "outputs", "aliased", "temporaries", "code", "peak")
    made = found.retold(
        program=task["name"].rpartition(".")[2],
        target=task["target"],
        versions=dict(versions),
        options=dict(task["xla"]),
        jaxpr=result["jaxpr"],
        stablehlo=result["stablehlo"],
        stablehlo_locations="",
        before=before,
        after=after,
        runs=found.runs or read_log(folder / "log", _name_module(before))[0],
        passes=passes,
        memory=_choose_memory(Memory(*(memory.get(name, 0) for name in names)) if memory else None, found.memory),
        cost=Cost((result["cost"] or {}).get("flops", 0.0), 0.0, 0.0, "executable", {}),
        times=Times(*result["seconds"]),
        frames=places.frames,
    )
    root = Path(task["root"])
    named = {frame.file for chain in made.frames.values() for frame in chain}
    sources = {}
    # Those outside of the project are JAX's, or the probe's own.
    for file in sorted(name for name in named if not Path(name).is_absolute()):
        with suppress(OSError, UnicodeDecodeError):
            if (root / file).is_file():
                sources[file] = (root / file).read_text(encoding="utf-8")
    return made.retold(sources=sources)


def _choose_memory(told: Memory | None, planned: Memory) -> Memory:
    """Return the bytes that an executable says it needs, with those of the plan where it says none of its temporaries.

    Releases before 0.4.29 leave the temporaries of a CPU out, and older ones know nothing of a GPU that is not here.
    """
    if told is None:
        return planned
    return told if told.temporaries else replace(told, temporaries=planned.temporaries)


class _Places:
    """The places in Python that instructions name, those of older releases, which name file and line, among them."""

    def __init__(self, frames: Mapping[int, tuple[Frame, ...]]) -> None:
        self.frames = dict(frames)
        self._known: dict[tuple[str, int], int] = {}

    def number(self, text: str) -> str:
        """Return a module with the number of a frame where an older release names a file and a line."""
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
    """Return the passes that a log says were run over a module, in order, and the seconds that each took in all."""
    runs: list[PassRun] = []
    seconds: dict[str, float] = {}
    pipeline, ours = "", False
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if match := PIPELINE.search(line):
                ours, pipeline = match["module"] == module, match["name"]
            elif ours and (match := SPENT.search(line)):
                seconds[match["name"]] = seconds.get(match["name"], 0.0) + int(match["microseconds"]) / 1e6
            elif ours and (match := PASS.search(line)):
                runs.append(name_run(pipeline, match["name"], changed=False))
    return tuple(runs), seconds


def _name_module(text: str) -> str:
    match = re.match(r"HloModule ([^\s,]+)", text)
    return match[1] if match else ""
