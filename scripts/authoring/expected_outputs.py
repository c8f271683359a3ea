"""The expected compiled form of every program on every target, stored as small text files, and its comparison.

The files are `tests/expected/PROGRAM/TARGET.txt`. Their content does not depend on the machine; the CPU's files are for
x86-64 processors. A target that is missing on this machine is skipped, and its files stay unchanged.
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
"""The processors that the CPU's files are for, in Python's names."""

_FRAME = re.compile(r" ?stack_frame_id=\d+")


@dataclass(frozen=True)
class Member:
    """A function that is compiled from a program's file.

    Attributes:
        name: The function's name in the file, or an empty string for the function that the file is named after.
        function: The function.
        example: The arguments that it is compiled for.
        targets: The targets that it is compiled for: the names that include a topology, by short name.
        arguments: The other arguments of the capture.
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
    """Return the sorted names, without `.py`, of the files in snippets/programs that define something to compile."""
    return [path.stem for path in sorted(PROGRAMS.glob("*.py")) if list_defined_names(path) & {"EXAMPLE", "PROGRAMS"}]


@cache
def list_members(program: str) -> tuple[Member, ...]:
    """Return the functions to compile from a program's file, in the order of the file.

    Functions that the gallery shows are compiled for all targets, others for the usual ones, unless the file names
    their targets. The gallery's own file only has the functions to which it passes more arguments than an example.
    """
    gallery = importlib.import_module("programs.gallery")
    pieces = [piece.function for piece in gallery.PROGRAMS.values()]
    members = []
    for member in list_program_members(importlib.import_module(f"programs.{program}"), program).values():
        of_gallery = program == gallery.__name__.rpartition(".")[2]
        # A program that the gallery shows unchanged is compiled with its own file, so it is not repeated here.
        if of_gallery and not member.arguments:
            continue
        is_shown = of_gallery or (member.function in pieces and not member.arguments)
        names = member.only or (targets.TARGETS if is_shown else USUAL)
        places = _place(names, member.arguments)
        members.append(Member(member.name, member.function, member.example, places, member.arguments))
    return tuple(members)


def _place(names: Iterable[str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of targets with the topology that the mesh requires, by their short names."""
    # An empty mesh has the product 1, so a program without a mesh gets one device.
    devices = math.prod(arguments.get("mesh", {}).values())
    return {name: targets.place(name, devices) for name in names}


def list_targets(program: str) -> list[str]:
    """Return the targets for which a program has an expected output."""
    return [name for name in targets.TARGETS if any(name in member.targets for member in list_members(program))]


def find_obstacle(target: str) -> str:
    """Return the reason why a target's files cannot be made or compared on this machine, or an empty string."""
    machine = platform.machine()
    # The CPU compiler generates code for the instruction set of the machine that it runs on.
    if target == "cpu" and machine not in MACHINES:
        return f"the CPU's files are those of an x86-64 processor, and this is {machine}"
    return targets.find_target(target).obstacle


def make(program: str, target: str) -> str:
    """Compile a program for a target, and return the text of its expected file: one section for each member."""
    sections = []
    for member in list_members(program):
        if target in member.targets:
            title = f"[{member.name}]\n" if member.name else ""
            sections.append(title + describe_member(member, member.targets[target]))
    return "\n".join(sections)


def compile_member(member: Member, target: str) -> Capture | Exception:
    """Compile a member, and return its capture, or the exception with which JAX or the compiler rejects it.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
    """
    try:
        return begin_capture(member.program, target, None)()
    except TargetUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - any exception is the outcome to record
        return error


def describe_member(member: Member, target: str) -> str:
    """Compile a member, and return a summary of its compiled form, or the first line of the error that rejects it."""
    outcome = compile_member(member, target)
    if isinstance(outcome, Exception):
        return f"refused\n  {str(outcome).partition('\n')[0] or type(outcome).__name__}\n"
    # The module's text omits the tables of stack frames, so jaxlib would warn about each reference to them.
    return describe_outcome(outcome, jax_private.count_work(_FRAME.sub("", outcome.after)))


def locate(program: str, target: str) -> Path:
    """Return the path of the expected output for a program and a target."""
    return EXPECTED / program / f"{target}.txt"


def compare_outputs(program: str, target: str, expected: str, actual: str) -> str:
    """Return the first change between two outputs in words and a unified diff, or an empty string if they are equal."""
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
    """Return the sentence that says how to accept the differences."""
    return f"If that is meant, `scripts/update {' '.join(dict.fromkeys(programs))}` writes it."


def _find_place(lines: Sequence[str], index: int) -> tuple[str, str]:
    """Return the member above a line, or an empty string, and its unindented heading, or `the file`."""
    above = lines[: index + 1]
    member = next((line[1:-1] for line in reversed(above) if line.startswith("[")), "")
    return member, next((line for line in reversed(above) if line[:1] not in ("", " ", "[")), "the file")


def find_stale() -> list[Path]:
    """Return the expected files that no program produces any more."""
    expected = {locate(program, target) for program in list_programs() for target in list_targets(program)}
    return sorted(set(EXPECTED.glob("*/*.txt")) - expected)
