"""Texts that XLA's own parser accepts and rejects."""

from __future__ import annotations

import pytest

from xla_inspect.compilation.xla_parser import RefusedHloError, read_back

PLAIN = "HloModule m\nENTRY main {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n}"


def test_a_module_is_returned_as_xla_prints_it() -> None:
    assert "  ROOT %y = f32[8]{0} negate(%x)\n" in read_back(PLAIN)


def test_a_rejected_text_is_reported_with_line_and_column() -> None:
    with pytest.raises(RefusedHloError, match=r"was parsing 4:19: .*Unknown opcode: max"):
        read_back(PLAIN.replace("negate", "max"))
