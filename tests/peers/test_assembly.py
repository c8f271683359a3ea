"""The innermost loop that does the work in generated code."""

from __future__ import annotations

import pytest

from peers.assembly import inner_loop, is_multiplication

CODE = """
	.text
layer:
	xorl	%eax, %eax
.LBB0_1:
	.loc	1 1 0
	movss	(%rdi), %xmm0           # the outer loop loads
.LBB0_2:
	mulps	%xmm1, %xmm0
.Ltmp3:
	addps	%xmm0, %xmm2
	jne	.LBB0_2
	mulps	%xmm3, %xmm0
	mulps	%xmm3, %xmm0
	jb	.LBB0_1
.LBB0_3:
	addq	$4, %rax
	jne	.LBB0_3
	jmp	.LBB0_4
.LBB0_4:
	retq
"""


def test_the_working_loop_is_the_innermost_with_a_multiplication() -> None:
    assert inner_loop(CODE).split() == [
        ".LBB0_2:",
        "mulps",
        "%xmm1,",
        "%xmm0",
        "addps",
        "%xmm0,",
        "%xmm2",
        "jne",
        ".LBB0_2",
    ]


@pytest.mark.parametrize(
    "line", ["\tmulss\t(%r11), %xmm3", "\tvmulps\t%ymm0, %ymm1, %ymm2", "\tvfmadd231ps\t%ymm0, %ymm1, %ymm2"]
)
def test_a_multiplication_of_one_or_several_numbers_counts(line: str) -> None:
    assert is_multiplication(line)


@pytest.mark.parametrize("line", ["\timulq\t$4, %rax", "\tmulsd\t%xmm0, %xmm1", "\taddps\t%xmm0, %xmm1", ".LBB0_2:"])
def test_address_and_integer_multiplications_do_not_count(line: str) -> None:
    assert not is_multiplication(line)
