"""The picture of kernel boundaries: a box for each kernel and the compiler's reason below it."""

from __future__ import annotations

import html
import re

import pytest

from chapters import list_kernels_of_lines
from chapters.boundary_picture import draw_boundaries, find_readers
from programs import remember
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.analysis.reasons import read_reasons


def read_texts(svg: str) -> str:
    return " ".join(html.unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg))


def test_a_kernel_is_above_its_readers_with_the_reason_between_them() -> None:
    program = capture(remember.remember, *remember.EXAMPLE, target="cpu", reasons=True)
    (mean, *_), after = list_kernels_of_lines(program, "mean = "), {*list_kernels_of_lines(program, "std = ", "z = (y")}
    names = [mean, *(kernel.name for kernel in list_kernels(program) if kernel.name in after - {mean})]
    reads = find_readers(program, names)
    assert reads[mean]
    assert all(names.index(reader) > names.index(name) for name in names for reader in reads[name])
    picture = draw_boundaries(program, names, "<two> kernels")
    reasons = {reason.words for reason in read_reasons(program).about(mean) if reason.verdict == "refused"}
    texts = read_texts(picture)
    assert [name for name in names if name not in texts] == []
    assert any(words in texts for words in reasons)
    assert "&lt;two&gt; kernels" in picture


def test_a_kernel_without_readers_has_no_reason_below_it() -> None:
    program = capture(remember.remember, *remember.EXAMPLE, target="cpu", reasons=True)
    (alike,) = list_kernels_of_lines(program, "alike = ")
    assert find_readers(program, [alike]) == {alike: []}
    assert read_texts(draw_boundaries(program, [alike], "one")).split() == [alike]


def test_an_unknown_kernel_name_is_rejected() -> None:
    program = capture(remember.remember, *remember.EXAMPLE, target="cpu", reasons=True)
    with pytest.raises(KeyError, match=r"fusion\.9000"):
        draw_boundaries(program, ["fusion.9000"], "none")
