"""The playground: a local web page on which a reader edits code and sees the result of its compilation by XLA."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.play.copied_test_support import recapture
    from xla_inspect.play.example_list import list_examples
    from xla_inspect.play.play_page import read_static, write_page
    from xla_inspect.play.playground import serve
    from xla_inspect.play.process_pool import Limits, choose_memory
else:
    __getattr__ = lazy_names(__name__)
