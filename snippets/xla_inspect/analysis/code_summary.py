"""Summaries of generated code that can be compared between releases even though all names differ."""

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
"""The compared languages: the last one before the assembler on a CPU or GPU, and a TPU's scheduled module."""

RUNS = 8
"""The assumed trip count of every loop when operations are weighted: enough to separate loops from other code."""

type Work = Mapping[int, Counter[str]]
"""The number of occurrences of each operation, by the number of loops around it."""

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
"""A pattern of opcodes that are not counted, because their number differs between releases for the same work."""


@dataclass(frozen=True)
class KernelCode:
    """The code of one kernel, without names and notes that differ between compilations of the same program.

    Attributes:
        lines: Its instructions in order, without the names of values.
        loops: The number of loops at each depth of nesting.
        work: The number of occurrences of each operation at each depth of nesting.
        entries: The number of kernels that a GPU can launch; some releases dump one file for a whole module.
    """

    lines: tuple[str, ...]
    loops: Mapping[int, int]
    work: Work
    entries: int

    @property
    def digest(self) -> str:
        """A hash of the instructions: 8 hexadecimal digits."""
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
        """A hash of the code of all kernels, independent of their names: 4 hexadecimal digits."""
        return hashlib.sha256(
            "\n".join(sorted(kernel.digest for kernel in self.kernels.values())).encode()
        ).hexdigest()[:4]

    @property
    def instructions(self) -> int:
        """The number of instructions of all kernels."""
        return sum(len(kernel.lines) for kernel in self.kernels.values())

    @property
    def entries(self) -> int:
        """The number of kernels that a GPU can launch; some releases omit the code of some kernels, such as sorts."""
        return sum(kernel.entries for kernel in self.kernels.values())

    @property
    def loops(self) -> Counter[int]:
        """The number of loops of all kernels at each depth of nesting."""
        return sum((Counter(kernel.loops) for kernel in self.kernels.values()), Counter[int]())

    @property
    def work(self) -> Work:
        """The number of occurrences of each operation in all kernels, by loop depth, as in `KernelCode.work`."""
        total: dict[int, Counter[str]] = {}
        for kernel in self.kernels.values():
            for depth, counts in kernel.work.items():
                total.setdefault(depth, Counter()).update(counts)
        return total

    def distance(self, other: CodeSummary) -> float:
        """Return the distance between the work of two programs, from 0 (equal) to 1."""
        return measure_distance(self.work, other.work)


def measure_distance(first: Work, second: Work) -> float:
    """Return how much two programs' mixes of operations differ, from 0 (equal) to 1; operations in loops weigh more.

    At each loop depth, the mix of operations counts and not their number: a compiler that unrolls a loop twice as far
    has twice as many operations in it and runs it half as often.
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
    """Return a summary of a program's code, or None if no piece is in one of the languages in `READ`."""
    kernels = {piece.kernel: summarize_kernel(piece.text) for piece in pieces if piece.language in READ}
    return CodeSummary(kernels) if kernels else None


def summarize_kernel(text: str) -> KernelCode:
    """Return the code of one kernel without names, notes and comments, with its loops and operations counted."""
    lines: list[str] = []
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for whole in text.splitlines():
        line = _COMMENT.sub("", whole).strip()
        if not line or _FRAME.match(line):
            # Labels are local to a function, so they are forgotten at the start of the next one.
            if line.startswith("define "):
                labels = {}
            continue
        if _LABEL.match(line):
            labels[line[:-1].strip('"')] = len(lines)
            continue
        if _JUMP.match(line):
            # A jump to a label that is already known goes backward, so it closes a loop.
            begins = [labels[name] for label in _NAMED.findall(line) if (name := label.strip('%"')) in labels]
            loops += [(begin, len(lines)) for begin in begins]
        lines.append(_strip(line))
    depths = [sum(begin <= at <= end for begin, end in loops) for at in range(len(lines))]
    work: dict[int, Counter[str]] = {}
    for line, depth in zip(lines, depths, strict=True):
        if (opcode := _name_operation(line)) and not _ADDRESSING.match(opcode):
            work.setdefault(depth, Counter())[f"{opcode} of vectors" if _VECTOR.search(line) else opcode] += 1
    return KernelCode(tuple(lines), Counter(depths[end] for _, end in loops), work, len(_ENTRY.findall(text)))


def _strip(line: str) -> str:
    """Return an instruction's line without metadata, flags and names; a called function's name is put at the end."""
    # Metadata, alignment notes and flags differ between releases although the generated code is the same.
    line = _FLAGS.sub("", _NOTES.sub("", _HLO.sub("", line)))
    # The name of a called function tells the operation, so it stays when other names are dropped.
    callees = _CALLED.search(line) if "call " in line else None
    # Names differ between releases, so only the sign of each name stays.
    text = _NAMED.sub(lambda match: match[0][0], line)
    return f"{' '.join(text.split())}{f' {callees[1]}' if callees else ''}"


def _name_operation(line: str) -> str:
    match = _OPCODE.match(line)
    opcode = match["opcode"] if match else ""
    return line.rpartition(" ")[2] if opcode == "call" else opcode
