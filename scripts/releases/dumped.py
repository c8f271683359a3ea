"""Read the dumps and the log of one compile, as the releases of several years write them; needs no JAX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DUMPED = re.compile(r"(?P<module>module_\d+\.[^.]*)\.(?:cl_\d+\.)?(?P<rest>.*)")
STATE = re.compile(r"\d{4,}\..*?\.(?:after_(?P<name>.*?)(?:\.before_.*)?|(?P<before>before_.*))\.txt")
PIPELINE = re.compile(r"Running HLO pass pipeline on module (?P<module>[^:\s]+): (?P<name>.+)$")
PASS = re.compile(r"^[A-Z]\S+ .*\]\s+HLO pass (?P<name>\S+)$")
RECORDED = re.compile(r'pass_metadata \{\n.*?pass_name: "(?P<name>.*?)"', re.DOTALL)
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
TABLES = re.compile(r"^FileNames\n.*?^StackFrames\n.*?\n\n", re.MULTILINE | re.DOTALL)
START = "pipeline-start"
GIVEN, OPTIMIZED = "before_optimizations.txt", "after_optimizations.txt"


def read_dumps(folder: Path, log: Path) -> dict[str, Any]:
    """Return the modules before and after, the passes that changed the module, and those that ran."""
    modules: dict[str, list[tuple[str, Path]]] = {}
    metadata = ""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".metadata.textproto"):
            metadata = max(metadata, path.read_text(encoding="utf-8"), key=len)
        elif (found := DUMPED.fullmatch(path.name)) and path.suffix == ".txt":
            modules.setdefault(found["module"], []).append((found["rest"], path))
    module = max((each for each in modules if _has(modules[each], GIVEN)), key=lambda each: len(modules[each]))
    name, files = module.partition(".")[2], list(modules[module])
    if not _has(files, OPTIMIZED):
        # The compiler went on with a copy under another number.
        copies = [each for each in modules.items() if each[0].partition(".")[2] == name and _has(each[1], OPTIMIZED)]
        files += max(copies, key=lambda each: len(each[1]), default=("", []))[1]

    def text(ending: str) -> str:
        found = next((path for rest, path in files if rest.endswith(ending)), None)
        if found is None:
            message = f"the compiler left no {ending} of {name}"
            raise FileNotFoundError(message)
        return found.read_text(encoding="utf-8")

    state, changed = _strip(text(GIVEN)), []
    before = state
    for rest, path in files:
        if not (found := STATE.fullmatch(rest)):
            continue
        now = _strip(path.read_text(encoding="utf-8"))
        if now != state:
            state = now
            changed.append(NUMBERED.sub(r"\1", found["name"] or found["before"]))
    ran = [each for each in RECORDED.findall(metadata) if each != START]
    told = read_log(log.read_text(encoding="utf-8", errors="replace"), name)
    return {
        "before": before,
        "after": _strip(text(OPTIMIZED)),
        "changed": changed,
        "ran": [NUMBERED.sub(r"\1", each) for each in max(ran, told, key=len)],
    }


def _has(files: Iterable[tuple[str, Path]], ending: str) -> bool:
    return any(rest.endswith(ending) for rest, _ in files)


def _strip(text: str) -> str:
    """Return a module without the tables of Python frames."""
    return TABLES.sub("", text, count=1)


def read_log(text: str, module: str) -> list[str]:
    """Return the passes that the log says were run over a module, in order."""
    ran, ours = [], False
    for line in text.splitlines():
        if found := PIPELINE.search(line):
            ours = found["module"] == module
        elif ours and (found := PASS.search(line)):
            ran.append(found["name"])
    return ran
