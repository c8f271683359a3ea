"""The answer to a question about a program: plain data that prints itself, the most important part first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers.answer_parts import Part


class Answer:
    """The answer to one question about one program: each is a frozen dataclass of plain data.

    Its fields are what JSON holds of it, so each has its unit in its name or in the docstring: bytes, seconds, flops.
    """

    @property
    def holds(self) -> bool:
        """True for the answer that is hoped for, such as that a program compiles; decides the exit status."""
        return not getattr(self, "error", "")

    def tell(self) -> Iterator[Part]:
        """Yield the answer in the order in which it is read: the first part says it in one sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The answer as a command prints it, without colours."""
        from xla_inspect.answers.answer_text import print_text

        return print_text(self)

    def __init_subclass__(cls) -> None:
        """Let IPython's console show an answer as a command does: it takes a class's own method before its `repr`."""
        cls._repr_pretty_ = lambda self, printer, _: printer.text(str(self))  # type: ignore[attr-defined]  # IPython's

    def _repr_html_(self) -> str:
        """Show the answer in a notebook."""
        from xla_inspect.answers.answer_html import write_fragment

        return write_fragment(self)
