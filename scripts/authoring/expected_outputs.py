"""What every program compiles to on every target, as small text files, and how they differ from what it is now.

The files are `tests/expected/PROGRAM/TARGET.txt`. They hold nothing that differs between machines; the CPU's are those
of an x86-64 processor. A target that this machine lacks is passed over and keeps its files.
"""

from __future__ import annotations

import difflib
import importlib
import math
import platform
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from common import ROOT
from xla_inspect import jax_private, targets
from xla_inspect.compilation import begin_capture, describe_program, list_defined_names, list_program_members
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.report import describe_outcome
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from xla_inspect.captured import Capture
    from xla_inspect.compilation import Program

PROGRAMS = ROOT / "snippets" / "programs"
EXPECTED = ROOT / "tests" / "expected"
MACHINES = ("x86_64", "AMD64")
"""The processors that the CPU's files are for, as Python names them."""

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
        return describe_program(self.function, self.example, self.arguments)


def list_programs() -> list[str]:
    """Return the files of snippets/programs that hold something to compile, by name, in order."""
    return [path.stem for path in sorted(PROGRAMS.glob("*.py")) if list_defined_names(path) & {"EXAMPLE", "PROGRAMS"}]


@cache
def list_members(program: str) -> tuple[Member, ...]:
    """Return what a program's file compiles, in the order of the file.

    A program that the gallery shows is compiled for all of the gallery's targets, and by the file of its own unless the
    gallery tells it more than an example.
    """
    gallery = importlib.import_module("programs.gallery")
    pieces = [piece.function for piece in gallery.PROGRAMS.values()]
    members = []
    for member in list_program_members(importlib.import_module(f"programs.{program}"), program).values():
        of_gallery = program == gallery.__name__.rpartition(".")[2]
        if of_gallery and not member.arguments:
            continue
        is_shown = of_gallery or (member.function in pieces and not member.arguments)
        names = member.only or (targets.TARGETS if is_shown else USUAL)
        places = _place(names, member.arguments)
        members.append(Member(member.name, member.function, member.example, places, member.arguments))
    return tuple(members)


def _place(names: Iterable[str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return targets with the topology that a mesh asks for, by their short names."""
    devices = math.prod(arguments.get("mesh", {}).values())
    return {name: targets.place(name, devices) for name in names}


def list_targets(program: str) -> list[str]:
    """Return the targets that a program has a file for."""
    return [name for name in targets.TARGETS if any(name in member.targets for member in list_members(program))]


def find_obstacle(target: str) -> str:
    """Return why a target's files can be neither made nor compared here, or an empty string."""
    machine = platform.machine()
    if target == "cpu" and machine not in MACHINES:
        return f"the CPU's files are those of an x86-64 processor, and this is {machine}"
    return targets.find_target(target).obstacle


def make(program: str, target: str) -> str:
    """Return the text of a program's file for a target: a section for each member that is compiled for it."""
    sections = []
    for member in list_members(program):
        if target in member.targets:
            title = f"[{member.name}]\n" if member.name else ""
            sections.append(title + describe_member(member, member.targets[target]))
    return "\n".join(sections)


def compile_member(member: Member, target: str) -> Capture | Exception:
    """Return the capture of a member, or what JAX or the compiler raises where it refuses it."""
    try:
        return begin_capture(member.program, target, None)()
    except TargetUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever they raise is what they say
        return error


def describe_member(member: Member, target: str) -> str:
    """Return what a member compiles to, or what JAX or the compiler says where it refuses it."""
    outcome = compile_member(member, target)
    if isinstance(outcome, Exception):
        return f"refused\n  {str(outcome).partition('\n')[0] or type(outcome).__name__}\n"
    # Without the tables of frames, which the module's text leaves out, jaxlib would warn of each of their numbers.
    return describe_outcome(outcome, jax_private.count_work(_FRAME.sub("", outcome.after)))


def locate(program: str, target: str) -> Path:
    """Return the file of a program and a target."""
    return EXPECTED / program / f"{target}.txt"


def compare_outputs(program: str, target: str, expected: str, actual: str) -> str:
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


def find_stale() -> list[Path]:
    """Return the files that no program makes any more."""
    expected = {locate(program, target) for program in list_programs() for target in list_targets(program)}
    return sorted(set(EXPECTED.glob("*/*.txt")) - expected)
