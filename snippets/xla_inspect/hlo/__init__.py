"""HLO text as data: a strict parser into a `Module`, a writer of such modules, shapes and the table of opcodes."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.hlo.attributes import CLUTTER, CONFIGURATION, INCIDENTAL, NAME, escape, quote, split_attributes
    from xla_inspect.hlo.frame import Frame
    from xla_inspect.hlo.frame_tables import read_frames, split
    from xla_inspect.hlo.lines import read_instruction
    from xla_inspect.hlo.module import Computation, Instruction, Module
    from xla_inspect.hlo.opcodes import CATEGORIES, CATEGORY, IDLE, OPCODES, categorise, spell
    from xla_inspect.hlo.parser import parse_module
    from xla_inspect.hlo.shape import BITS, Layout, Shape, ShapeProblemError, parse_shape, read_shape
    from xla_inspect.hlo.tuple_elements import spell_out
    from xla_inspect.hlo.windows import Window, read_windows
else:
    __getattr__ = lazy_names(__name__)
