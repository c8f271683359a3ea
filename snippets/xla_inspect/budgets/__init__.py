"""Guarantees about compiled programs: assertions in tests, bounds in a file, and the causes of violations."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.budgets.assertion_log import AssertionLog, BrokenError
    from xla_inspect.budgets.budget_check import Checked, check_budget
    from xla_inspect.budgets.budget_file import Budget, read_budgets
    from xla_inspect.budgets.budget_record import Record, read_records, write_records
    from xla_inspect.budgets.budget_report import BudgetReport
    from xla_inspect.budgets.compiled_call import hold_call
    from xla_inspect.budgets.compiled_program import CompiledProgram
    from xla_inspect.budgets.fingerprint import Fingerprint
    from xla_inspect.budgets.measured_number import Quantity, Verdict
    from xla_inspect.budgets.measures import MEASURES
    from xla_inspect.budgets.snapshots import Snapshots
else:
    __getattr__ = lazy_names(__name__)
