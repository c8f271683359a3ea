"""Parts of a line of generated code: together they are the line, and each has its name."""

from __future__ import annotations

import pytest

from chapters import code_anatomy
from programs import layer
from xla_inspect import capture

LINES = {
    ("sass", "@!P0 LDG.E.128 R20, desc[UR14][R12.64+0x10] ;"): {
        "predicate": ["@!P0"], "mnemonic": ["LDG"], "modifiers": [".E.128"], "register": ["R20"],
        "address in memory": ["desc[UR14][R12.64+0x10]"],
    },
    ("sass", "/*0090*/  IMAD.WIDE.U32 R2, R9, 0x4, RZ ;"): {
        "address": ["/*0090*/"], "mnemonic": ["IMAD"], "modifiers": [".WIDE.U32"], "register": ["R2", "R9", "RZ"],
        "immediate": ["0x4"],
    },
    ("ptx", "ld.global.nc.b32 \t%r15, [%rd10+4];"): {
        "operation": ["ld"], "memory": [".global"], "modifiers": [".nc"], "type": [".b32"], "register": ["%r15"],
        "address": ["[%rd10+4]"],
    },
    ("ptx", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, {%r3};"): {
        "operation": ["mma"], "modifiers": [".sync.aligned.m16n8k8.row.col"],
        "type": [".f32", ".tf32", ".tf32", ".f32"], "register": ["%r1", "%r2", "%r3"],
    },
    ("llvm", "%43 = fadd contract <8 x float> %wide.load, %7"): {
        "name": ["%43"], "operation": ["fadd"], "flags": ["contract"], "vector type": ["<8 x float>"],
        "operand": ["%wide.load", "%7"],
    },
    ("triton", "%13 = tt.dot %11, %12, %arg5, inputPrecision = tf32 : tensor<16x16xf32> -> tensor<16x8xf32>"): {
        "name": ["%13"], "operation": ["tt.dot"], "operand": ["%11", "%12", "%arg5"],
        "setting": ["inputPrecision = tf32 "], "type": ["tensor<16x16xf32>", "tensor<16x8xf32>"], "result type": ["->"],
    },
    ("asm", "vaddps       ymm1, ymm12, ymmword ptr [rax + rcx - 0x60]"): {
        "mnemonic": ["vaddps"], "vector register": ["ymm1", "ymm12"], "memory": ["ymmword ptr [rax + rcx - 0x60]"],
    },
    ("bundle", "0x2f  :  { %415 = vst [vmem:[#7 + $0x8] sm:$0xff] /*src=*/%v2_v3  ;;  %v3_v4 = vpop.f32.mrf.mxu2 }"): {
        "address": ["0x2f"], "number": ["%415"], "operation": ["vst", "vpop.f32.mrf.mxu2"],
        "memory": ["[vmem:[#7 + $0x8]"], "sublanes": ["sm:$0xff"], "comment": ["/*src=*/"],
        "vector register": ["%v2_v3", "%v3_v4"], "next slot": [";;"],
    },
}  # fmt: skip


@pytest.mark.parametrize(("language", "line"), LINES)
def test_each_part_of_a_line_is_named(language: str, line: str) -> None:
    parts_by_name: dict[str, list[str]] = {}
    for part in code_anatomy.split_code(language, line):
        if part.name:
            parts_by_name.setdefault(part.name, []).append(part.text)
    assert parts_by_name == LINES[language, line]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "b200"])
def test_the_parts_of_each_line_of_real_code_are_that_line(target: str) -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target=target, machine=True, passes=False)
    languages = set()
    for code in program.code:
        language = code.language.removesuffix("-unoptimized")
        languages.add(language)
        for line in code.text.splitlines():
            assert "".join(part.text for part in code_anatomy.split_code(language, line)) == line.strip()
    assert languages == ({"llvm", "asm"} if target == "cpu" else {"llvm", "ptx", "sass", "triton"})


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("HMMA.1688.F32 R8, R16, R12, RZ ;", "multiplies two small matrices that lie in the registers of a warp"),
        ("BRANDNEW R8 ;", "an instruction that the table does not list"),
    ],
)
def test_the_meaning_of_a_mnemonic_comes_from_its_table(line: str, meaning: str) -> None:
    (part,) = (piece for piece in code_anatomy.split_code("sass", line) if piece.name == "mnemonic")
    assert part.meaning.startswith(meaning)


def test_parts_of_one_name_have_one_number_and_one_entry() -> None:
    html = code_anatomy.annotate_code("sass", "IMAD R2, R9, R3, R4 ;")
    assert html.count("<li ") == 2
    assert html.count("<sup>2</sup>") == 4
    assert 'aria-label="An instruction of SASS and its parts"' in html


def test_text_from_code_is_escaped() -> None:
    html = code_anatomy.annotate_code("llvm", "%a = load <8 x float>, ptr %b")
    assert "&lt;8 x float&gt;" in html
    assert "<8 x" not in html


def test_a_language_without_parts_is_refused_with_those_that_have_some() -> None:
    with pytest.raises(ValueError, match="'wasm'; the known languages are sass, ptx, llvm, triton, asm, bundle"):
        code_anatomy.split_code("wasm", "i32.add")
