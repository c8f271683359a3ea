"""HLO with tables of stack frames, for display."""

from __future__ import annotations

from programs import transformer_block
from xla_inspect.compilation.hlo_locations import located_hlo
from xla_inspect.hlo import parse_module


def test_the_tables_name_the_programs_own_frames_and_no_other() -> None:
    module = parse_module(located_hlo(transformer_block.transformer_block, *transformer_block.EXAMPLE))
    chains = module.frames().values()
    assert {frame.file for chain in chains for frame in chain} == {"snippets/programs/transformer_block.py"}
    assert {chain[-1].function for chain in chains} == {"transformer_block"}
    assert max(map(len, chains)) == 3
