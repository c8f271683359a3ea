"""The registers of a kernel are those of its machine code."""

from __future__ import annotations

import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis.machine import read_resources
from xla_inspect.compilation import count_registers, disassemble, sass
from xla_inspect.errors import TargetUnavailableError


def test_the_resources_of_a_kernel_match_the_assemblers_header() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    resources_by_kernel = {code.kernel: read_resources(code.text) for code in disassemble(program)}
    expected = {
        name: (kernel_resources.registers, kernel_resources.spilled, kernel_resources.shared)
        for name, kernel_resources in resources_by_kernel.items()
        if kernel_resources
    }
    assert count_registers(program) == expected
    assert expected.keys() == {thunk.symbol for thunk in program.thunks if thunk.symbol}


def test_only_the_kernels_that_are_asked_for_are_assembled() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    symbol = next(thunk.symbol for thunk in program.thunks if thunk.symbol)
    assert count_registers(program, {symbol}).keys() == {symbol}
    assert not count_registers(capture(scanned, *EXAMPLE, target="cpu"))


def test_a_missing_assembler_is_reported_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    monkeypatch.setattr(sass.importlib.metadata, "files", lambda _: [])
    with pytest.raises(TargetUnavailableError, match="nvidia-cuda-nvcc is not installed"):
        count_registers(program)
