"""Ways to falsify a sentence by one word: its number, its name, its qualifier; in prose, in labels and in tables."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

from livepage.read import FENCE, mask

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

# What may stand for what: names of one kind, and words of which the one turns a sentence that holds with the other.
_GROUPS = """
one, two | two, three | three, four | four, five | five, six | six, seven | seven, eight | eight, nine | nine, ten
ten, eleven | eleven, twelve | twice, once | half, twice
CPU, H100, TPU | GPU, TPU | v4, v5e, v5p | A100, H100, B200 | XLA, JAX | TVM, IREE, XLA | TensorFlow, PyTorch
kLoop, kInput, kOutput, kCustom | layout-assignment, algsimp, fusion, cse, dce
kernel, copy | kernels, copies, instructions | fusions, copies | operand, result | argument, result | rows, columns
bytes, elements | main memory, on-chip memory
more, fewer | more, less | most, least | larger, smaller | largest, smallest | before, after | first, last
always, never | every, no | each, no | all, some | all, none of | only, also | both, neither of | same, other
none, all | nothing, everything | not, always | cannot, can | without, with
reads, writes | removes, adds | keeps, drops
becomes, stays | exactly, about | alone, too | inside, outside
"""


def _list_swaps() -> Iterator[tuple[str, str]]:
    for group in re.split(r"[|\n]", _GROUPS.strip()):
        yield from itertools.permutations([word.strip() for word in group.split(",")], 2)


_SWAPS: dict[str, list[str]] = {}
for _one, _other in _list_swaps():
    _SWAPS.setdefault(_one, []).append(_other)
_ALL = sorted({*_SWAPS, *(word[0].upper() + word[1:] for word in _SWAPS)}, key=len, reverse=True)
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, _ALL))})(?![\w-])")

# An entry of a table that a reader is told: not where it is checked, shown or said, nor what the claim was.
_TABLE = re.compile(r'^(?!#|check|shown|chapter|call|source|once|claim|xla|stablehlo)[^\n]*?= "(.*)"$', re.MULTILINE)


def list_changes(file: Path, text: str, dice: random.Random) -> Iterator[tuple[int, str, str]]:
    """Yield what can be falsified in a page, a notebook or a table, each word once.

    Args:
        file: Its ending says what it is.
        text: What stands in it.
        dice: Chooses what takes the place of a word.

    Yields:
        The line, what was changed into what, and the whole text after the change.
    """
    for start, end in _list_spans(file, text):
        for word in _WORD.finditer(text, start, end):
            other = _exchange(word[0], dice)
            changed = text[: word.start()] + other + text[word.end() :]
            line = text.count("\n", 0, word.start()) + 1
            context = changed.split("\n")[line - 1].strip()
            yield line, f"{word[0]} became {other}: {context}", changed


def _exchange(word: str, dice: random.Random) -> str:
    """Return what takes the place of a word, which may begin a sentence."""
    if word in _SWAPS:
        return dice.choice(_SWAPS[word])
    other = dice.choice(_SWAPS[word[0].lower() + word[1:]])
    return other[0].upper() + other[1:]


def _list_spans(file: Path, text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words stand that a reader is told, as offsets."""
    if file.suffix == ".toml":
        yield from (match.span(1) for match in _TABLE.finditer(text))
    elif file.suffix == ".py":
        yield from (match.span() for match in re.finditer(r"^# (?!%%)[^\n]*$", text, re.MULTILINE))
    else:
        masked = mask(text)
        yield from (match.span() for match in re.finditer(r"[^\n]*\w[^\n]*", masked))
        for fence in FENCE.finditer(text):
            head, _, code = fence[0].partition("\n")
            if 'exec="on"' in head:
                yield from _list_strings(code.rpartition("\n")[0], fence.start() + len(head) + 1)


def _list_strings(code: str, offset: int) -> Iterator[tuple[int, int]]:
    """Yield where text of more than a word stands in code."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    starts = [0]
    for line in code.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            last, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
            yield offset + starts[node.lineno - 1] + node.col_offset, offset + starts[last - 1] + end
