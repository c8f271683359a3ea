"""What generated code amounts to, so that the code of two releases can be compared though no name in it is the same."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.captured import Code

READ = ("llvm", "ptx", "hlo")
"""The languages that are compared: the last before the assembler on a CPU and a GPU, a TPU's scheduled module."""

RUNS = 8
"""How often a loop is taken to run its body where operations are weighed: enough to tell loops from the rest."""

type Work = Mapping[int, Counter[str]]
"""How often each operation occurs, by how many loops it lies in."""

_COMMENT = re.compile(r"\s*(?:;|//).*$")
_NOTES = re.compile(r",? ![\w.]+(?: !\d+|\([^)]*\))?|\s#\d+\b|, align \d+|\b(?:align|dereferenceable)(?: |\()\d+\)?")
_FLAGS = re.compile(
    r"\b(?:nuw|nsw|nneg|inbounds|samesign|disjoint|exact|tail|noundef|nonnull|nocapture|noalias|readonly|writeonly|"
    r"local_unnamed_addr|captures\([^)]*\)|contract|afn|reassoc|nnan|ninf|nsz|arcp|fast)\s?"
)
_NAMED = re.compile(r'[%@][\w.$-]+|@"[^"]*"|%"[^"]*"|\$L\w+')
_LABEL = re.compile(r'^(?:[\w.$-]+|"[^"]*"):\s*$')
_JUMP = re.compile(r"^(?:@%\S+ )?(?:br|bra|switch)\b")
_HLO = re.compile(r", (?:metadata|backend_config|frontend_attributes|sharding)=\{.*?\}(?=,|$)")
_FRAME = re.compile(
    r"^\s*(?:\.\w+|source_filename\b|target |!|attributes |declare |define |HloModule\b|ENTRY |[{}()]|@\S+ = |"
    r"%\S+ \(.*\{$)"
)
_ENTRY = re.compile(r"^\s*(?:\.visible\s+)?\.entry\b", re.MULTILINE)
_CALLED = re.compile(r"@(llvm\.[\w.]+|[a-zA-Z_]\w*)\(")
_OPCODE = re.compile(r"(?:.* = (?:\([^=]*?\) |[a-z]\w*\[\S* )?)?(?:@%\S+ )?(?P<opcode>[\w.-]+)")
_VECTOR = re.compile(r"<\d+ x ")
_ADDRESSING = re.compile(
    r"getelementptr|bitcast|[sz]ext|trunc|phi|freeze|ret\b|unreachable|insertelement|extractelement|shufflevector|"
    r"br\b|bra\b|switch|mov\b|mov\.|cvta?\b|cvta?\.|ld\.param|parameter|constant|get-tuple-element|tuple\b"
)
"""Instructions that compilers of two years put in other numbers around the same work."""


@dataclass(frozen=True)
class KernelCode:
    """One kernel's code, without what differs between two compiles of the same.

    Attributes:
        lines: Its instructions, names of values left out, in order.
        loops: How many loops it has, by how deep they lie in others.
        work: How often each operation occurs, by how many loops it lies in.
        entries: How many kernels a GPU can launch in it: some releases dump a file for all of a module.
    """

    lines: tuple[str, ...]
    loops: Mapping[int, int]
    work: Work
    entries: int

    @property
    def digest(self) -> str:
        """What names its content."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class CodeSummary:
    """The generated code of a program.

    Attributes:
        kernels: Each kernel by name.
    """

    kernels: Mapping[str, KernelCode]

    @property
    def digest(self) -> str:
        """What names the code of all kernels, whatever they are called."""
        return hashlib.sha256("\n".join(sorted(each.digest for each in self.kernels.values())).encode()).hexdigest()[:4]

    @property
    def instructions(self) -> int:
        """How many instructions there are."""
        return sum(len(each.lines) for each in self.kernels.values())

    @property
    def entries(self) -> int:
        """How many kernels a GPU can launch in it; some releases dump no code of some, such as sorts."""
        return sum(each.entries for each in self.kernels.values())

    @property
    def loops(self) -> Counter[int]:
        """How many loops there are, by how deep they lie in others."""
        return sum((Counter(each.loops) for each in self.kernels.values()), Counter[int]())

    @property
    def work(self) -> Work:
        """How often each operation occurs, as `KernelCode.work`."""
        found: dict[int, Counter[str]] = {}
        for kernel in self.kernels.values():
            for depth, counted in kernel.work.items():
                found.setdefault(depth, Counter()).update(counted)
        return found

    def distance(self, other: CodeSummary) -> float:
        """Return how far apart the work of two codes is, from 0 to 1."""
        return measure_distance(self.work, other.work)


def measure_distance(first: Work, second: Work) -> float:
    """Return which share of the operations only one of two has, from 0 to 1, those in loops weighed the more.

    Of each depth of loops it is the mix of operations that counts, and not their number: a compiler that unrolls a
    loop twice as far has twice as many in it, and lets it run half as often.
    """
    depths = {*first, *second}
    alike = sum(RUNS**depth * _overlap(first.get(depth), second.get(depth)) for depth in depths)
    return 1 - alike / sum(RUNS**depth for depth in depths) if depths else 0.0


def _overlap(first: Counter[str] | None, second: Counter[str] | None) -> float:
    if not (first and second):
        return 0.0
    totals = first.total(), second.total()
    return sum(min(number / totals[0], second[name] / totals[1]) for name, number in first.items())


def summarize_code(pieces: Iterable[Code]) -> CodeSummary | None:
    """Return what the code of a program amounts to, or None where there is none to compare."""
    kernels = {each.kernel: summarize_kernel(each.text) for each in pieces if each.language in READ}
    return CodeSummary(kernels) if kernels else None


def summarize_kernel(text: str) -> KernelCode:
    """Return one kernel's code without names, notes and what is only there for a reader."""
    lines: list[str] = []
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for whole in text.splitlines():
        line = _COMMENT.sub("", whole).strip()
        if not line or _FRAME.match(line):
            if line.startswith("define "):
                labels = {}
            continue
        if _LABEL.match(line):
            labels[line[:-1].strip('"')] = len(lines)
            continue
        if _JUMP.match(line):
            begins = [labels[name] for each in _NAMED.findall(line) if (name := each.strip('%"')) in labels]
            loops += [(begin, len(lines)) for begin in begins]
        lines.append(_strip(line))
    depths = [sum(begin <= at <= end for begin, end in loops) for at in range(len(lines))]
    work: dict[int, Counter[str]] = {}
    for line, depth in zip(lines, depths, strict=True):
        if (opcode := _name_operation(line)) and not _ADDRESSING.match(opcode):
            work.setdefault(depth, Counter())[f"{opcode} of vectors" if _VECTOR.search(line) else opcode] += 1
    return KernelCode(tuple(lines), Counter(depths[end] for _, end in loops), work, len(_ENTRY.findall(text)))


def _strip(line: str) -> str:
    """Return an instruction without names: those of functions that it calls stay."""
    line = _FLAGS.sub("", _NOTES.sub("", _HLO.sub("", line)))
    called = _CALLED.search(line) if "call " in line else None
    text = _NAMED.sub(lambda match: match[0][0], line)
    return f"{' '.join(text.split())}{f' {called[1]}' if called else ''}"


def _name_operation(line: str) -> str:
    match = _OPCODE.match(line)
    opcode = match["opcode"] if match else ""
    return line.rpartition(" ")[2] if opcode == "call" else opcode
