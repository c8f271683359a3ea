"""The registers of a kernel are those that its machine code uses."""

from __future__ import annotations

import re

import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.compilation import count_registers, disassemble, sass
from xla_inspect.errors import TargetUnavailableError

REGISTER = re.compile(r"\bR(\d+)\b")
HELD_BACK = 24
"""Registers that a thread may have without an instruction that names them: they are given out in eights, some kept."""


def test_each_kernel_has_as_many_registers_as_its_machine_code_names() -> None:
    made = capture(scanned, *EXAMPLE, target="h100")
    counted = count_registers(made)
    assert counted.keys() == {thunk.symbol for thunk in made.thunks if thunk.symbol}
    for code in disassemble(made):
        registers, spilled, _ = counted[code.kernel]
        used = 1 + max(int(number) for number in REGISTER.findall(code.text))
        assert used <= registers <= used + HELD_BACK
        # What is spilled is stored to and loaded from local memory.
        assert bool(spilled) <= bool(re.search(r"\b(?:STL|LDL)\b", code.text))


def test_shared_memory_that_the_code_asks_for_is_that_which_its_ptx_declares() -> None:
    made = capture(scanned, *EXAMPLE, target="h100")
    counted = count_registers(made)
    declared = {code.kernel: ".shared" in code.text for code in made.code if code.language == "ptx"}
    with_some = {kernel for kernel, (_, _, shared) in counted.items() if shared}
    assert with_some
    assert with_some <= {kernel for kernel, has in declared.items() if has}


def test_only_the_kernels_that_are_asked_for_are_assembled() -> None:
    made = capture(scanned, *EXAMPLE, target="h100")
    symbol = next(thunk.symbol for thunk in made.thunks if thunk.symbol)
    assert count_registers(made, {symbol}).keys() == {symbol}
    assert not count_registers(capture(scanned, *EXAMPLE, target="cpu"))


def test_without_the_assembler_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = capture(scanned, *EXAMPLE, target="h100")
    monkeypatch.setattr(sass.importlib.metadata, "files", lambda _: [])
    with pytest.raises(TargetUnavailableError, match="nvidia-cuda-nvcc is not installed"):
        count_registers(made)
