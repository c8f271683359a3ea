"""Find in generated code the loop that does the work."""

from __future__ import annotations

import re

_NOISE = re.compile(r"\s+\.|\.L(?!BB)|\s*#|\s*$")
_MULTIPLY = re.compile(r"\s+v?(?:mul|fmadd\d*)[ps]s\s")
_JUMP = re.compile(r"\s+j\w+\s+(\.LBB\w+)")


def inner_loop(assembly: str) -> str:
    """Return the innermost loop that multiplies most often, without directives and comments.

    Args:
        assembly: Code of an x86-64 processor as LLVM prints it, in AT&T syntax.
    """
    lines = [line.partition("#")[0].rstrip() for line in assembly.splitlines() if not _NOISE.match(line)]
    labels = {line.partition(":")[0]: number for number, line in enumerate(lines) if line.startswith(".LBB")}
    jumps = ((number, match[1]) for number, line in enumerate(lines) if (match := _JUMP.match(line)))
    loops = [lines[labels[label] : end + 1] for end, label in jumps if labels[label] < end]
    innermost = [loop for loop in loops if sum(line.startswith(".LBB") for line in loop) == 1]
    return "\n".join(max(innermost, key=lambda loop: sum(map(is_multiplication, loop))))


def is_multiplication(line: str) -> bool:
    """Return whether a line of assembly multiplies float32 numbers: one or several, with or without an addition."""
    return bool(_MULTIPLY.match(line))
