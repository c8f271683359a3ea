"""The question about the reason for a compiler decision, such as a copy, a separate kernel or a collective."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.why.copy_list import Copy, list_copies
    from xla_inspect.questions.why.explanation import Finding, Why
    from xla_inspect.questions.why.finding import WhyFinder
    from xla_inspect.questions.why.name_lookup import Selector
    from xla_inspect.questions.why.open_questions import OpenQuestions, list_open_questions
    from xla_inspect.questions.why.options import why
    from xla_inspect.questions.why.tried_changes import try_changes
else:
    __getattr__ = lazy_names(__name__)
