"""Turn dumped HLO text into text that depends on the program alone, and its stack-frame tables into call chains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.hlo.frame import Frame
from xla_inspect.hlo.record import PassChange, PassRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TABLES = re.compile(
    r"^FileNames\n(?P<files>.*?)\n\nFunctionNames\n(?P<functions>.*?)\n\n"
    r"FileLocations\n(?P<locations>.*?)\n\nStackFrames\n(?P<frames>.*?)\n\n+",
    re.MULTILINE | re.DOTALL,
)
NAME = re.compile(r'^(\d+) "(.*)"$', re.MULTILINE)
LOCATION = re.compile(
    r"^(\d+) \{file_name_id=(\d+) function_name_id=(\d+) line=(\d+) end_line=(\d+) column=(\d+) end_column=(\d+)\}$",
    re.MULTILINE,
)
LEVEL = re.compile(r"^(\d+) \{file_location_id=(\d+)(?: parent_frame_id=(\d+))?\}$", re.MULTILINE)

# A hash that the GPU compiler writes before it schedules; it covers names that number the process's modules.
FINGERPRINT = re.compile(r',?\s*fingerprint_before_lhs="[0-9a-f]*"')
EMPTY_ATTRIBUTES = re.compile(r",?\s*frontend_attributes=\{\}")

DUMP_NAME = re.compile(r"\d{4,}\.(?P<pipeline>.*?)\.(?:after_(?P<name>.*?)(?:\.before_.*)?|(?P<before>before_.*))\.txt")
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
PLAIN = re.compile(r"[^a-zA-Z0-9_.+-]")


def clean(text: str) -> str:
    """Return a dumped module without its stack-frame tables and without what differs between two runs."""
    text = TABLES.sub("", text, count=1)
    # The hash stands in the module's header, which is the first line.
    header, end, rest = text.partition("\n")
    if "fingerprint_before_lhs" not in header:
        return text
    return EMPTY_ATTRIBUTES.sub("", FINGERPRINT.sub("", header)) + end + rest


def read_frames(text: str) -> dict[int, tuple[Frame, ...]]:
    """Return the call chain of each stack-frame id of a dumped module, innermost frame first.

    The printed `parent_frame_id` is one more than the parent's id, so that 1 means no parent (and 0 is left out).
    Columns are printed as Python counts them, from zero; a frame counts them from one.
    """
    found = TABLES.search(text)
    if not found:
        return {}
    files = {int(key): name for key, name in NAME.findall(found["files"])}
    functions = {int(key): name for key, name in NAME.findall(found["functions"])}
    places: dict[int, Frame] = {}
    for key, *numbers in LOCATION.findall(found["locations"]):
        file, function, line, end_line, column, end_column = map(int, numbers)
        places[int(key)] = Frame(files[file], functions[function], line, column + 1, end_line, end_column + 1)
    levels = {int(key): (int(place), int(parent or 1) - 1) for key, place, parent in LEVEL.findall(found["frames"])}
    return {key: tuple(_climb(key, levels, places)) for key in levels}


def _climb(key: int, levels: Mapping[int, tuple[int, int]], places: Mapping[int, Frame]) -> Iterable[Frame]:
    """Yield the frames from a stack-frame id outwards."""
    seen: set[int] = set()
    while key in levels and key not in seen:
        seen.add(key)
        place, key = levels[key]
        yield places[place]


def find_changes(dumped: Sequence[tuple[str, str]], before: str, runs: Sequence[PassRun]) -> tuple[PassChange, ...]:
    """Return the passes that changed the module, in order, each with the module after it.

    Pipelines dump their first state, and one that runs inside another dumps its last state twice: a dump that equals
    the state before it is no change and is left out.

    Args:
        dumped: Name and text of the modules dumped between passes, in order.
        before: The module that the compiler got, cleaned.
        runs: All runs of passes, for the names as the compiler has them (a file's name has other letters for some).
    """
    names = {PLAIN.sub("_", name): name for run in runs for name in (run.pipeline, run.name)}
    state, changes = before, []
    for file, text in dumped:
        found = DUMP_NAME.fullmatch(file)
        if not found:
            continue
        module = clean(text)
        if module == state:
            continue
        state = module
        pipeline, name = found["pipeline"], found["name"] or found["before"]
        changes.append(PassChange(names.get(pipeline, pipeline), names.get(name, name), module))
    return tuple(changes)
