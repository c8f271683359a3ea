"""Vector widths, from the registers of instructions on several elements."""

from __future__ import annotations

import pytest

from xla_inspect.analysis.machine.vector_widths import count_widths

ASSEMBLY = """f:
    vmovups      ymm0, ymmword ptr [rdi + 0x20]
    vmovaps      ymmword ptr [rsp + 0x2c0], ymm0
    vaddps       ymm1, ymm0, ymmword ptr [rax]
    vaddss       xmm1, xmm0, xmm2
    vextractf128 xmm2, ymm1, 1
    vxorps       xmm0, xmm0, xmm0
    add          rcx, 0x400
    ret
"""


def test_each_instruction_counts_for_the_widest_register_that_it_names() -> None:
    widths = count_widths(ASSEMBLY)
    assert widths.by_register == {"ymm": 4, "scalar": 1, "xmm": 1}
    assert (widths.instructions, widths.vectors, widths.on_stack) == (8, 5, 1)
    assert widths.width == 256


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("vmulsd       xmm0, xmm1, xmm2", "scalar"),
        ("vfmadd231ss  xmm0, xmm1, xmm2", "scalar"),
        ("vcvtsi2ss    xmm0, xmm0, eax", "scalar"),
        ("vmovd        eax, xmm0", "scalar"),
        ("vucomiss     xmm0, xmm1", "scalar"),
        ("vbroadcastss ymm0, dword ptr [rax]", "ymm"),
        ("vfmadd213ps  zmm0, zmm1, zmm2", "zmm"),
        ("vpackssdw    ymm0, ymm1, ymm2", "ymm"),
        ("vmovdqu      xmm0, xmmword ptr [rax]", "xmm"),
        ("vcvtps2pd    ymm0, xmm1", "ymm"),
    ],
)
def test_scalar_instructions_are_distinguished_from_vector_instructions(line: str, name: str) -> None:
    assert count_widths(f"f:\n    {line}\n").by_register == {name: 1}


def test_arm_registers_are_vectors_if_they_are_named_with_lanes() -> None:
    widths = count_widths(
        "f:\n    ldr          q0, [x0]\n    fadd         v0.4s, v0.4s, v1.4s\n    fadd         s0, s0, s1\n"
    )
    assert (widths.by_register, widths.width) == ({"v": 2, "scalar": 1}, 128)


def test_the_widest_registers_count_even_if_few_instructions_use_them() -> None:
    insert = "    vinsertps xmm2, xmm2, dword ptr [rdi], 0x10\n"
    widths = count_widths(f"f:\n{insert}{insert}    vaddps ymm2, ymm2, ymm3\n")
    assert (widths.width, widths.widest) == (128, 256)
