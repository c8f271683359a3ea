"""The explorer: a view that steps through the passes of a capture and follows a line of Python through them."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.report.explorer.data import VERSION, describe_capture, describe_details
    from xla_inspect.report.explorer.embed import embed_explorer, link_explorer, link_pair
    from xla_inspect.report.explorer.kernel_data import describe_kernels
    from xla_inspect.report.explorer.recorded_index import Recorded, embed_programs
    from xla_inspect.report.explorer.standalone_page import write_report
    from xla_inspect.report.explorer.static_files import (
        BUNDLES,
        COMPILERS,
        LATER,
        SCRIPTS,
        STYLE,
        join_scripts,
        read_asset,
    )
else:
    __getattr__ = lazy_names(__name__)
