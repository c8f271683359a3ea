"""The question about the machine code of a program's kernels: registers, spills, loops and instructions."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.code.finding import MachineCode, explain_code
else:
    __getattr__ = lazy_names(__name__)
