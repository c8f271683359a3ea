"""Damaged text quickly gives a module or an error with a place inside the text."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from cases import TARGETS
from speed import measure_slowness

from xla_inspect.analysis import parse_buffers, parse_live_ranges
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.parser import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Corpus

pytestmark = pytest.mark.long("bare JAX compiles the corpus on both cores for half a minute")

PROGRAMS = ("scan", "branches", "ring", "eighths", "compact")
MARKS = " \n\t,;:#\"\\'(){}[]<>=%*/-0aZ\0é"
SECONDS = 2.0


def damage(text: str, dice: random.Random) -> str:
    """Return the text truncated, or with pieces deleted, duplicated, moved or overwritten."""
    start = dice.randrange(len(text))
    end = min(len(text), start + dice.choice((1, 1, 2, 10, 100, 1000)))
    piece = text[start:end]
    other = dice.randrange(len(text))
    kinds: tuple[Callable[[], str], ...] = (
        lambda: text[:start],
        lambda: text[:start] + text[end:],
        lambda: text[:end] + piece + text[end:],
        lambda: text[:other] + piece + text[other:],
        lambda: text[:start] + "".join(dice.choices(MARKS, k=len(piece))) + text[end:],
        lambda: text[:start] + dice.choice(MARKS) * dice.choice((1, 50, 5000)) + text[start:],
    )
    return dice.choice(kinds)()


def check(read_text: Callable[[str], object], text: str) -> None:
    start = time.process_time()
    error = refusal(read_text, text)
    assert time.process_time() - start < SECONDS
    if error is not None:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines), str(error)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1, str(error)


def refusal(read_text: Callable[[str], object], text: str) -> HloSyntaxError | None:
    try:
        read_text(text)
    except HloSyntaxError as error:
        return error
    return None


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_damaged_module_is_read_or_rejected_with_its_place(corpus: Corpus, target: str, program: str) -> None:
    dice = random.Random(f"{target} {program}")  # noqa: S311 - the same damage each time, and no secret
    texts = [path.read_text() for path in corpus.passes(target, program)]
    for _ in range(120):
        check(parse_module, damage(dice.choice(texts), dice))


@pytest.mark.parametrize("target", TARGETS)
def test_a_damaged_memory_plan_is_read_or_rejected_with_its_place(corpus: Corpus, target: str) -> None:
    dice = random.Random(target)  # noqa: S311 - the same damage each time, and no secret
    buffers = corpus.find(target, "scan", "-buffer-assignment.txt").read_text()
    ranges = corpus.find(target, "scan", "-live-range.txt").read_text()
    for _ in range(300):
        check(parse_buffers, damage(buffers, dice))
        check(parse_live_ranges, damage(ranges, dice))


@pytest.mark.parametrize(
    "noise",
    [
        "(",
        "{",
        "[",
        '"',
        "\\",
        "/*",
        ", a={",
        ", a=(",
        "%x, ",
        "f32[",
        "#1",
        "((",
        "=\n{\n",
        "  a = f32[] x(), b=\n{\n",
    ],
)
def test_long_repetitions_take_linear_time(noise: str) -> None:
    many = noise * (200_000 // len(noise))
    frame = "HloModule m\n\nENTRY %main (x: f32[]) -> f32[] {\n"
    for text in (
        many,
        f"HloModule m{many}",
        f"{frame}  ROOT %x = f32[] add({many}",
        f"{frame}  %y = f32[] add(%x){many}",
    ):
        check(parse_module, text)


def test_reading_takes_at_most_three_times_as_long_as_splitting_into_words(corpus: Corpus) -> None:
    texts = [path.read_text() for target in corpus.available for path in corpus.texts(target)]
    assert measure_slowness(texts) < 3  # 1.8 at the time of writing
