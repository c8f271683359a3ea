"""HLO text is found inside other text, and its errors have the lines of the whole file."""

from __future__ import annotations

import html
import json
import pprint
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.dumps import Files, check_module, list_modules, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture


@pytest.fixture(scope="module")
def hlo() -> str:
    """The optimized module of a loop, as JAX prints it."""

    def loop(x: jax.Array) -> jax.Array:
        return jnp.asarray(jax.lax.fori_loop(0, 9, lambda _, y: jnp.sin(y) @ y + jnp.sum(y), x))

    return str(jax.jit(loop).lower(jax.ShapeDtypeStruct((8, 8), jnp.float32)).compile().as_text())


def put_before_lines(fronts: Callable[[int], str], text: str) -> str:
    return "".join(f"{fronts(number)}{line}".rstrip() + "\n" for number, line in enumerate(text.rstrip().split("\n")))


def read_files(text: str) -> list[Capture]:
    files = Files.from_mapping({"issue.txt": text.encode()}, "issue.txt")
    captures = []
    for module in list_modules(files):
        captures.append(read_capture(files, module))
        check_module(files, module, captures[-1])
    return captures


WRAPS: dict[str, Callable[[str], str]] = {
    "a Markdown fence": lambda text: f"My HloModule jit_loop, which is slow:\n\n```hlo\n{text}```\nThank {{you}}\n",
    "a fence in a list": lambda text: f"1. See\n\n   ```\n{put_before_lines(lambda _: '   ', text)}   ```\n2. Two\n",
    "a quotation": lambda text: f"You wrote:\n{put_before_lines(lambda _: '> ', text)}\nI see the same.\n",
    "prose": lambda text: f"This is the program:\n\n{text}\nWhat can I do?\n",
    "prose after it": lambda text: f"{text}\nWhat can I do?\n",
    "an indented block": lambda text: f"See:\n\n{put_before_lines(lambda _: '    ', text)}\nas above\n",
    "lines of a log with times": lambda text: (
        "I1127 02:51:06.9 1 a.cc:1] start\n"
        + put_before_lines(
            lambda at: f"I1127 02:51:{at % 60:02}.{at * 7919:06} {98 + at:4} hlo.cc:{9 + at % 2}] ", text
        )
        + "I1127 02:52:07.1 1 a.cc:1] end\n"
    ),
    "one message of a log": lambda text: f"DEBUG:root:start\nDEBUG:root:{text}\nDEBUG:root:end\n",
    "the output of a dump to the terminal": lambda text: f"*** Begin module_0001 ***\n{text}*** End module_0001 ***\n",
    "a patch": lambda text: f"--- a\n+++ b\n{put_before_lines(lambda _: '+', text)}",
    "a repr": repr,
    "a repr in a session": lambda text: f"In [1]: text\nOut[1]: {text!r}\nIn [2]:\n",
    "a repr that pprint splits": pprint.pformat,
    "JSON": lambda text: json.dumps({"hlo": text}, indent=1),
    "a printed text in a notebook's file": lambda text: json.dumps({"text": text.splitlines(keepends=True)}, indent=1),
    "a repr in a notebook's file": lambda text: json.dumps({"text/plain": [repr(text)]}, indent=1),
    "a web page": lambda text: f"<pre>{html.escape(text, quote=False)}</pre>\n",
    "lines that end as on Windows": lambda text: f"See:\n\n{text}\nThanks\n".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_module_is_read_from_the_text_around_it(wrap: str, hlo: str) -> None:
    (capture,) = read_files(WRAPS[wrap](hlo))
    (expected,) = read_files(hlo)
    assert capture.after.rstrip() == expected.after.rstrip()
    assert capture.frames == expected.frames


def test_two_modules_of_one_name_in_an_issue_have_names_of_their_own(hlo: str) -> None:
    text = f"Before:\n```\n{hlo}```\nAfter:\n```\n{hlo.replace('sine', 'cosine')}```\n"
    modules = list_modules(Files.from_mapping({"issue.md": text.encode()}, "issue.md"))
    assert [module.key for module in modules] == ["jit_loop", "jit_loop#2"]
    first, second = read_files(text)
    assert ("cosine(" in first.after, "cosine(" in second.after) == (False, True)


def test_the_lines_of_two_processes_in_one_log_are_told_apart(hlo: str) -> None:
    lines = hlo.rstrip().split("\n")
    captures = read_files("".join(f"[rank{rank}]: {line}\n" for line in lines for rank in (0, 1)))
    assert [capture.after.rstrip() for capture in captures] == [read_files(hlo)[0].after.rstrip()] * 2


def test_a_handwritten_module_with_braces_beside_its_instructions_is_read_whole() -> None:
    text = """HloModule m

add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }

ENTRY main { x = f32[8]{0} parameter(0)
  ROOT y = f32[8]{0} negate(x) }
"""
    (capture,) = read_files(text)
    assert [step.opcode for step in capture.unoptimized_module.entry] == ["parameter", "negate"]


def test_computations_without_a_header_are_read_from_a_fence() -> None:
    (capture,) = read_files("See\n\n> ```\n> ENTRY main {\n>   ROOT p = f32[8] parameter(0)\n> }\n> ```\nok\n")
    assert capture.module.instruction_count() == 1


@pytest.mark.parametrize(
    "text", ["The HloModule jit_loop, which is slow, is below.\n", "A HloModule f\nand {\n} end\n"]
)
def test_prose_about_a_module_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(InspectError, match=r"issue\.txt is a text without an HLO module"):
        read_files(text)


@pytest.mark.parametrize("wrap", ["a Markdown fence", "a quotation", "prose", "prose after it"])
def test_a_text_that_is_cut_off_is_reported_with_the_line_of_the_file(wrap: str, hlo: str) -> None:
    cut = hlo[: hlo.rindex(" parameter(")]
    text = WRAPS[wrap](f"{cut}\n")
    last = cut.rpartition("\n")[2]
    line = next(number for number, whole in enumerate(text.split("\n"), 1) if whole.endswith(last))
    with pytest.raises(InspectError, match="the text is cut off") as refusal:
        read_files(text)
    assert str(refusal.value).startswith(f"issue.txt: line {line}, "), refusal.value


def test_a_printed_module_is_said_to_be_cut_off_wherever_it_ends(hlo: str) -> None:
    whole = hlo.rstrip()
    for end in range(len("HloModule jit_loop, "), len(whole) - 1, 29):
        with pytest.raises(InspectError, match="the text is cut off"):
            parse_module(whole[:end])


def test_an_error_in_a_module_below_empty_lines_is_reported_with_the_line_of_the_file() -> None:
    with pytest.raises(InspectError, match=r"issue\.txt: line 5, column 7: unknown opcode 'f'"):
        read_files("\n\nHloModule m\nENTRY main {\n  a = f(b)\n}\n")
