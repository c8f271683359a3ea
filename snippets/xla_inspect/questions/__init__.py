"""The questions about a program, each a package: command-line options, functions that find the answer, printed form."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.registry import QUESTIONS, load_part
else:
    __getattr__ = lazy_names(__name__)
