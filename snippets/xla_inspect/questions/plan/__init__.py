"""The question about the best plan for a training step: mesh, specs, checkpoints, microbatches and donation."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.plan.options import MINUTES, plan
    from xla_inspect.questions.plan.plan_search import search_plans
else:
    __getattr__ = lazy_names(__name__)
