"""The question about the collectives of a program: the data that devices send each other, and the reasons."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.collectives.collective import Exchange
    from xla_inspect.questions.collectives.finding import find_exchanges
    from xla_inspect.questions.collectives.launch_places import list_launch_places
    from xla_inspect.questions.collectives.options import collectives
    from xla_inspect.questions.collectives.replication import Replication
    from xla_inspect.questions.collectives.shardings import explain_constraints
    from xla_inspect.questions.collectives.unpartitioned_program import PRODUCTS
else:
    __getattr__ = lazy_names(__name__)
