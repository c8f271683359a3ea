"""The question about changes in a program's compilation between releases of JAX, and their causes."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.since.finding import explain_release_change, explain_release_failure
    from xla_inspect.questions.since.release_history import ReleaseChange, ReleaseHistory, ReleaseRow
    from xla_inspect.questions.since.rendering import COLUMNS
else:
    __getattr__ = lazy_names(__name__)
