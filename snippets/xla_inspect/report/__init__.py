"""Renderers that show captures as Markdown, HTML and SVG."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis import (
        MEMORY,
        STATEMENT,
        close_brackets,
        model_launches,
        print_computation,
        print_instruction,
    )
    from xla_inspect.analysis.bundles import describe_below
    from xla_inspect.analysis.machine import KernelListing, describe_kernels
    from xla_inspect.report import markdown, views
    from xla_inspect.report.bundle_text import write_below, write_bundles
    from xla_inspect.report.expected_text import describe_outcome
    from xla_inspect.report.graph_boxes import BOX_KINDS, Box, describe_boxes, name_kind
    from xla_inspect.report.graph_picture import draw_boxes, draw_computation, draw_entry
    from xla_inspect.report.layers import Layers, arrange, place_nodes
    from xla_inspect.report.line_chart import chart_growth, chart_instructions, chart_releases, sparkline
    from xla_inspect.report.measured_times import Measured, find_measured, hash_program, read_times
    from xla_inspect.report.roofline import draw_roofline
    from xla_inspect.report.svg_figure import figure, svg
    from xla_inspect.report.timeline import draw_timeline, explain_no_plan
    from xla_inspect.report.words import describe_words
    from xla_inspect.targets import find_hardware, lane, short, title
    from xla_inspect.units import format_amount, format_bytes, format_duration, in_words, shorten, size
else:
    __getattr__ = lazy_names(__name__)
