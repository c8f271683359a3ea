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
START = "pipeline-start"
GIVEN, OPTIMIZED = "before_optimizations.txt", "after_optimizations.txt"


def read_dumps(folder: Path, log: Path) -> dict[str, Any]:
    """Return the modules before and after, the passes that changed the module, and those that ran."""
    from xla_inspect.hlo import split

    modules: dict[str, list[tuple[str, Path]]] = {}
    metadata = ""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".metadata.textproto"):
            metadata = max(metadata, path.read_text(encoding="utf-8"), key=len)
        elif (match := DUMPED.fullmatch(path.name)) and path.suffix == ".txt":
            modules.setdefault(match["module"], []).append((match["rest"], path))
    module = max(
        (candidate for candidate in modules if _has(modules[candidate], GIVEN)),
        key=lambda candidate: len(modules[candidate]),
    )
    name, files = module.partition(".")[2], list(modules[module])
    if not _has(files, OPTIMIZED):
        # The compiler went on with a copy under another number.
        copies = [copy for copy in modules.items() if copy[0].partition(".")[2] == name and _has(copy[1], OPTIMIZED)]
        files += max(copies, key=lambda copy: len(copy[1]), default=("", []))[1]

    def text(ending: str) -> str:
        path = next((path for rest, path in files if rest.endswith(ending)), None)
        if path is None:
            message = f"the compiler left no {ending} of {name}"
            raise FileNotFoundError(message)
        return path.read_text(encoding="utf-8")

    state, changed = split(text(GIVEN))[1], []
    before = state
    for rest, path in files:
        if not (match := STATE.fullmatch(rest)):
            continue
        now = split(path.read_text(encoding="utf-8"))[1]
        if now != state:
            state = now
            changed.append(NUMBERED.sub(r"\1", match["name"] or match["before"]))
    ran = [pass_name for pass_name in RECORDED.findall(metadata) if pass_name != START]
    logged = read_log(log.read_text(encoding="utf-8", errors="replace"), name)
    return {
        "before": before,
        "after": split(text(OPTIMIZED))[1],
        "changed": changed,
        "ran": [NUMBERED.sub(r"\1", pass_name) for pass_name in max(ran, logged, key=len)],
    }


def _has(files: Iterable[tuple[str, Path]], ending: str) -> bool:
    return any(rest.endswith(ending) for rest, _ in files)


def read_log(text: str, module: str) -> list[str]:
    """Return the passes that the log says were run over a module, in order."""
    ran, ours = [], False
    for line in text.splitlines():
        if match := PIPELINE.search(line):
            ours = match["module"] == module
        elif ours and (match := PASS.search(line)):
            ran.append(match["name"])
    return ran
