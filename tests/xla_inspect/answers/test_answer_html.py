"""Every part of an answer is shown as escaped HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_html import write_page
from xla_inspect.answers.answer_parts import Hint, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers.answer_parts import Part

BAD = "<script>alert({})</script>"


@dataclass(frozen=True)
class Hostile(Answer):
    """An answer whose texts a browser would execute without escaping."""

    def tell(self) -> Iterator[Part]:
        texts = [BAD.format(number) for number in range(7)]
        yield texts[0]
        yield texts[1]
        yield Hint(texts[2], texts[3])
        yield Table((texts[4],), ((texts[5],),), title=texts[6])


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_text_of_an_answer_is_shown_and_none_is_run() -> None:
    reader = Reader()
    reader.feed(write_page([Hostile()], BAD.format("title")))
    assert "script" not in reader.tags
    assert [number for number in range(7) if BAD.format(number) not in reader.text] == []
    assert BAD.format("title") in reader.text


@dataclass(frozen=True)
class Marked(Answer):
    """An answer with code in its texts."""

    def tell(self) -> Iterator[Part]:
        yield "`a<b>` is written"
        yield "by `c`"


def test_text_between_backticks_is_code() -> None:
    page = write_page([Marked()], "")
    assert "<code>a&lt;b&gt;</code> is written" in page
    assert "by <code>c</code>" in page
