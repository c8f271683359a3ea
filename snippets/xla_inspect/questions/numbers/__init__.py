"""The question about a result: the pass of the compiler that changed its bits, and the instruction behind it."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.numbers.chosen_outputs import find_outputs, list_outputs
    from xla_inspect.questions.numbers.finding import ArrayDifference, NumberChanges, rank
    from xla_inspect.questions.numbers.number_difference import NumberDifference
    from xla_inspect.questions.numbers.options import add_input_arguments, compare_numbers, numbers
    from xla_inspect.questions.numbers.other_results import WAYS, NotComparedError, compare_outputs
    from xla_inspect.questions.numbers.program_pair import compare_programs, digest_results
    from xla_inspect.questions.numbers.rendering import describe_marks, tell_limits, tell_missed
else:
    __getattr__ = lazy_names(__name__)
