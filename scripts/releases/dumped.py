"""Read the dumps and the log of one compile, as the releases of several years write them; needs no JAX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

DUMPED = re.compile(r"(?P<module>module_\d+\.[^.]*)\.(?:cl_\d+\.)?(?P<rest>.*)")
STATE = re.compile(r"\d{4,}\..*?\.(?:after_(?P<name>.*?)(?:\.before_.*)?|(?P<before>before_.*))\.txt")
PIPELINE = re.compile(r"Running HLO pass pipeline on module (?P<module>[^:\s]+): (?P<name>.+)$")
PASS = re.compile(r"^[A-Z]\S+ .*\]\s+HLO pass (?P<name>\S+)$")
RECORDED = re.compile(r'pass_metadata \{\n.*?pass_name: "(?P<name>.*?)"', re.DOTALL)
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
TABLES = re.compile(r"^FileNames\n.*?^StackFrames\n.*?\n\n", re.MULTILINE | re.DOTALL)
START = "pipeline-start"


def read_dumps(folder: Path, log: Path) -> dict[str, Any]:
    """Return the modules before and after, the passes that changed the module, and those that ran."""
    modules: dict[str, list[tuple[str, Path]]] = {}
    metadata = ""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".metadata.textproto"):
            metadata = max(metadata, path.read_text(encoding="utf-8"), key=len)
        elif (found := DUMPED.fullmatch(path.name)) and path.suffix == ".txt":
            modules.setdefault(found["module"], []).append((found["rest"], path))
    given = [files for files in modules.values() if any(rest.endswith("before_optimizations.txt") for rest, _ in files)]
    files = max(given, key=len)
    name = next(module for module, each in modules.items() if each is files).partition(".")[2]

    def text(ending: str) -> str:
        return next(path for rest, path in files if rest.endswith(ending)).read_text(encoding="utf-8")

    state, changed = _strip(text("before_optimizations.txt")), []
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
        "after": _strip(text("after_optimizations.txt")),
        "changed": changed,
        "ran": [NUMBERED.sub(r"\1", each) for each in max(ran, told, key=len)],
    }


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
