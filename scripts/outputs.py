"""Write what every program compiles to on every target as small text files, and compare them with what it is now.

    scripts/update [--check] [PROGRAM ...]

The files are `tests/expected/PROGRAM/TARGET.txt`. They hold nothing that differs between machines; the CPU's are those
of an x86-64 processor. A target that this machine lacks is passed over and keeps its files.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import math
import platform
import re
import sys
import time
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.capture import capture, private, targets
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.report import outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from xla_inspect.capture.lowering import Program

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "snippets" / "programs"
EXPECTED = ROOT / "tests" / "expected"
MACHINES = ("x86_64", "AMD64")
"""The processors that the CPU's files are for, as Python names them."""

TOPOLOGIES: Mapping[int, Mapping[str, str]] = {4: {"tpu-v5e": "2x2"}, 8: {"tpu-v5e": "2x4"}}
"""The grids that a number of devices is, by target; elsewhere it is the number."""

_FRAME = re.compile(r" ?stack_frame_id=\d+")


@dataclass(frozen=True)
class Member:
    """One function that a program's file compiles.

    Attributes:
        name: What the file calls it, or an empty string where it is the function that the file is named after.
        function: The function.
        example: The arguments it is compiled for.
        targets: Short name of each target it is compiled for, to the same with its topology.
        arguments: What else the capture is told.
    """

    name: str
    function: Callable[..., Any]
    example: tuple[Any, ...]
    targets: Mapping[str, str]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def program(self) -> Program:
        """The program, which is traced once for all targets."""
        return capture.describe(self.function, self.example, self.arguments)


def list_programs() -> list[str]:
    """Return the files of snippets/programs that hold something to compile, by name, in order."""
    pattern = re.compile(r"^(?:EXAMPLE|PROGRAMS)\b", re.MULTILINE)
    return [path.stem for path in sorted(PROGRAMS.glob("*.py")) if pattern.search(path.read_text(encoding="utf-8"))]


@cache
def list_members(program: str) -> tuple[Member, ...]:
    """Return what a program's file compiles, in the order of the file.

    That is the function named like the file with its EXAMPLE, or each of PROGRAMS. ONLY names the targets of a member
    that is not for all, ARGUMENTS is what each capture is told besides, LAYOUTS the same by name for a program that is
    spread over devices in several ways. A program that the gallery shows is compiled for all of the gallery's targets.
    """
    module = importlib.import_module(f"programs.{program}")
    if program == "gallery":
        return tuple(_list_pieces(module.PROGRAMS))
    pairs = {"": (getattr(module, program), module.EXAMPLE)} if hasattr(module, program) else module.PROGRAMS
    shown = [each.function for each in importlib.import_module("programs.gallery").PROGRAMS.values()]
    members = []
    for name, (function, example) in pairs.items():
        only = getattr(module, "ONLY", {}).get(name, targets.TARGETS if function in shown else capture.USUAL)
        arguments = getattr(module, "ARGUMENTS", {})
        members.append(Member(name, function, example, _place(only, arguments), arguments))
    for name, arguments in getattr(module, "LAYOUTS", {}).items():
        members.append(
            Member(name, getattr(module, program), module.EXAMPLE, _place(capture.USUAL, arguments), arguments)
        )
    return tuple(members)


def _list_pieces(pieces: Mapping[str, Any]) -> Iterator[Member]:
    """Yield the programs of the gallery that no other file lists for all targets: those told more than an example."""
    for name, piece in pieces.items():
        if piece.arguments:
            places = dict(zip(targets.TARGETS, piece.name_targets(targets.TARGETS), strict=True))
            yield Member(name, piece.function, piece.example, places, piece.arguments)


def _place(names: Iterable[str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return targets with the topology that a mesh asks for, by their short names."""
    devices = math.prod(arguments.get("mesh", {}).values())
    return {name: f"{name}:{TOPOLOGIES[devices].get(name, devices)}" if devices > 1 else name for name in names}


def list_targets(program: str) -> list[str]:
    """Return the targets that a program has a file for."""
    return [name for name in targets.TARGETS if any(name in member.targets for member in list_members(program))]


def find_obstacle(target: str) -> str:
    """Return why a target's files can be neither made nor compared here, or an empty string."""
    machine = platform.machine()
    if target == "cpu" and machine not in MACHINES:
        return f"the CPU's files are those of an x86-64 processor, and this is {machine}"
    return targets.find(target).obstacle


def make(program: str, target: str) -> str:
    """Return the text of a program's file for a target: a section for each member that is compiled for it."""
    sections = []
    for member in list_members(program):
        if target in member.targets:
            title = f"[{member.name}]\n" if member.name else ""
            sections.append(title + describe(member, member.targets[target]))
    return "\n".join(sections)


def describe(member: Member, target: str) -> str:
    """Return what a member compiles to, or what JAX or the compiler says where it refuses it."""
    try:
        found = capture.begin(member.program, target, None)()
    except TargetUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever they raise is what they say
        return f"refused\n  {str(error).partition('\n')[0] or type(error).__name__}\n"
    # Without the tables of frames, which the module's text leaves out, jaxlib would warn of each of their numbers.
    return outcome.describe(found, private.count_work(_FRAME.sub("", found.after)))


def locate(program: str, target: str) -> Path:
    """Return the file of a program and a target."""
    return EXPECTED / program / f"{target}.txt"


def compare(program: str, target: str, expected: str, actual: str) -> str:
    """Return what differs, or nothing: program, target and the first thing that changed, then a unified diff."""
    if expected == actual:
        return ""
    old, new = expected.splitlines(), actual.splitlines()
    first = next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    member, part = _find_place(new if first < len(new) else old, first)
    was, now = (lines[first].strip() if first < len(lines) else "nothing" for lines in (old, new))
    name = locate(program, target).relative_to(ROOT).as_posix()
    diff = "\n".join(difflib.unified_diff(old, new, f"{name} (expected)", f"{name} (now)", n=1, lineterm=""))
    return f"{program}{member and f' [{member}]'} on {target}: {part} changed first, from {was!r} to {now!r}\n{diff}"


def advise(programs: Iterable[str]) -> str:
    """Return how to accept what differs."""
    return f"If that is meant, `scripts/update {' '.join(dict.fromkeys(programs))}` writes it."


def _find_place(lines: Sequence[str], index: int) -> tuple[str, str]:
    """Return the member and the part that a line belongs to."""
    above = lines[: index + 1]
    member = next((line[1:-1] for line in reversed(above) if line.startswith("[")), "")
    return member, next((line for line in reversed(above) if line[:1] not in ("", " ", "[")), "the file")


def update(programs: Sequence[str], *, check: bool) -> int:
    """Write the files of programs, or only compare them, and say what happens; return the exit status."""
    start, changed, different, missing = time.monotonic(), [], [], {}
    for number, program in enumerate(programs, 1):
        said = []
        for target in list_targets(program):
            if obstacle := find_obstacle(target):
                missing[target] = obstacle
                continue
            path = locate(program, target)
            expected = path.read_text(encoding="utf-8") if path.is_file() else ""
            actual = make(program, target)
            if difference := compare(program, target, expected, actual):
                said.append(target)
                different.append(program)
                changed.append(difference if expected else f"{program} on {target}: new")
                if not check:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(actual, encoding="utf-8", newline="\n")
        news = f"{'differs' if check else 'wrote'} {', '.join(said)}" if said else "as expected"
        print(f"[{time.monotonic() - start:4.0f} s] {number:>2} of {len(programs)}  {program}: {news}", flush=True)
    stale = find_stale()
    for path in stale:
        changed.append(f"{path.relative_to(ROOT).as_posix()}: no program makes it")
        if not check:
            path.unlink()
    for target, obstacle in missing.items():
        print(f"{target} was passed over: {obstacle}")
    if changed:
        print("", *changed, *([advise(different)] if check and different else []), sep="\n\n")
    return int(check and bool(changed))


def find_stale() -> list[Path]:
    """Return the files that no program makes any more."""
    wanted = {locate(program, target) for program in list_programs() for target in list_targets(program)}
    return sorted(set(EXPECTED.glob("*/*.txt")) - wanted)


def main() -> None:
    """Update what the command line names, or everything."""
    parser = argparse.ArgumentParser(prog="scripts/update", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; the exit status says whether all is as expected"
    )
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help="files of snippets/programs by name (default: all)"
    )
    given = parser.parse_args()
    known = list_programs()
    if unknown := sorted(set(given.programs) - set(known)):
        parser.error(f"nothing to compile is named {', '.join(unknown)}; there are {', '.join(known)}")
    sys.exit(update(given.programs or known, check=given.check))


if __name__ == "__main__":
    main()
