"""The answer to a question about a program: plain data that prints itself, the most important part first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers.answer_parts import Part


class Answer:
    """The answer to one question about one program. Each subclass is a frozen dataclass of plain data.

    Its fields are the fields of its JSON, so each has its unit in its name or in the docstring: bytes, seconds, flops.
    """

    @property
    def holds(self) -> bool:
        """True if the answer is good, such as that a program compiles. The exit status of the command depends on it."""
        return not getattr(self, "error", "")

    def tell(self) -> Iterator[Part]:
        """Yield the parts of the answer in reading order: the first part is the answer as one sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the answer as a command prints it, without colors."""
        from xla_inspect.answers.answer_text import print_text

        return print_text(self)

    def __init_subclass__(cls) -> None:
        """Add a method with which IPython's console shows an answer as a command prints it, instead of its `repr`."""
        cls._repr_pretty_ = lambda self, printer, _: printer.text(str(self))  # type: ignore[attr-defined]  # IPython's

    def _repr_html_(self) -> str:
        """Return the answer as HTML, which a notebook shows."""
        from xla_inspect.answers.answer_html import write_fragment

        return write_fragment(self)
