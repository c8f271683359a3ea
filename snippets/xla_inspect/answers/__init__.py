"""Answers as plain data, the parts that they consist of, and their forms: text, HTML and JSON."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.answers.answer import Answer
    from xla_inspect.answers.answer_html import write_fragment, write_page
    from xla_inspect.answers.answer_json import describe_json, write_json
    from xla_inspect.answers.answer_parts import Hint, Listing, Part, Table, suggest
    from xla_inspect.answers.answer_text import print_answer
    from xla_inspect.answers.line_totals import (
        LineTotal,
        name_line,
        name_scope,
        sum_lines,
        sum_scopes,
        tell_lines,
        tell_scopes,
    )
    from xla_inspect.answers.missing_parts import NAMES, list_absences, show_flops, tell_absences, tell_unknown_work
    from xla_inspect.answers.time_text import explain_times, say_time, show_range, show_time
else:
    __getattr__ = lazy_names(__name__)
