"""Files with StableHLO are recognized by name or content, also in folders and archives, and others are left alone."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect import InspectError
from xla_inspect.stablehlo import find_file, has_programs, list_files, list_functions

from .conftest import LAYER

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax import export

HLO = "HloModule m\n\nENTRY main {\n  ROOT a = f32[] parameter(0)\n}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.mlir", LAYER),
        ("without_an_ending", LAYER),
        ("a.txt", LAYER),
        ("a.mlir", "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"),
        ("a.mlir", '"builtin.module"() ({\n}) : () -> ()\n'),
        ("a.mlirbc", b"ML\xefR\x01"),
        ("empty.mlir", ""),
    ],
)
def test_mlir_is_found_by_the_end_of_the_name_or_the_content(
    write: Callable[..., str], name: str, content: str | bytes
) -> None:
    file = find_file(write(name, content))
    assert file is not None
    assert (file.name, file.function, file.path) == (name, "", Path(name).absolute())


@pytest.mark.parametrize(("name", "content"), [("a.txt", HLO), ("a.hlo", HLO), ("a.py", "module = 1\n"), ("a.txt", "")])
def test_other_files_are_no_stablehlo(write: Callable[..., str], name: str, content: str) -> None:
    assert find_file(write(name, content)) is None


def test_a_file_of_jax_export_is_told_from_bytecode(write: Callable[..., str], exported: export.Exported) -> None:
    files = [
        find_file(write("a.bin", bytes(exported.serialize()))),
        find_file(write("a.mlirbc", exported.mlir_module_serialized)),
        find_file(write("a.mlir", LAYER)),
    ]
    assert [(file.is_export, bool(file.text)) for file in files if file] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_a_name_after_a_colon_is_a_function_of_a_file_or_a_file_of_a_folder(write: Callable[..., str]) -> None:
    write("a.mlir", LAYER)
    write("b.mlir", LAYER)
    with zipfile.ZipFile("c.zip", "w") as archive:
        archive.write("a.mlir")
    subjects = ("a.mlir:relu", ".:b.mlir", ".:b.mlir:relu", "c.zip", "c.zip:a.mlir:relu")
    files = [file for file in map(find_file, subjects) if file]
    assert [(file.name, file.function) for file in files] == [
        ("a.mlir", "relu"),
        ("b.mlir", ""),
        ("b.mlir", "relu"),
        ("a.mlir", ""),
        ("a.mlir", "relu"),
    ]
    with pytest.raises(InspectError, match=r"holds 2 programs; name one of them, such as \.:a\.mlir"):
        find_file(".")


def test_a_text_with_separators_has_several_programs_with_their_own_lines(write: Callable[..., str]) -> None:
    write("a.mlir", f"// a comment\n// -----\n{LAYER}// -----\n{LAYER}")
    assert [*list_files("a.mlir")] == ["1", "2"]
    file = find_file("a.mlir:2:relu")
    assert file is not None
    assert (file.name, file.function) == ("a.mlir", "relu")
    assert file.text.lstrip("\n").startswith("module")
    assert file.text.count("\n") - LAYER.count("\n") == 3 + LAYER.count("\n")
    with pytest.raises(InspectError, match=r"a\.mlir holds 2 programs; name one of them, such as a\.mlir:1"):
        find_file("a.mlir")


def test_a_text_in_utf_16_is_read(write: Callable[..., str]) -> None:
    file = find_file(write("a.mlir", LAYER.encode("utf-16")))
    assert file is not None
    assert file.text == LAYER


@pytest.mark.parametrize("front", ["", "> "])
def test_a_fenced_program_is_read_without_the_text_around_it(write: Callable[..., str], front: str) -> None:
    text = f"A report.\n\n```mlir\n{LAYER}```\nThe end.\n".replace("\n", f"\n{front}")
    file = find_file(write("report.md", text))
    assert file is not None
    assert file.text == f"\n\n\n{LAYER}"


LINES = LAYER.splitlines()
LOGGED = "".join(f"I1127 02:51:07.{at:06} 98 compiler.cc:9] {line}\n" for at, line in enumerate(LINES))
LOCATED = LAYER.replace("  }\n}\n", '  } loc(#a)\n} loc(#b)\n#a = loc("a.py":1:2)\n#b = loc(unknown)\n')


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"Out[3]: {LAYER!r}\n", 1),
        (repr(f"{LAYER!r}"), 1),
        (f"hello\n{LAYER}\nbye, module {{ and all\n", 2),
        ("It is slow:\n\n" + "".join(f"> {line}\n" for line in LINES) + "\nThanks\n", 3),
        ("It is slow:\n\n" + "".join(f"    {line}\n" for line in LINES) + "\nThanks\n", 3),
        (f"I1127 02:51:06.9 1 a.cc:1] start\n{LOGGED}I1127 02:51:08.9 1 a.cc:1] end\n", 2),
        (f"Traceback:\n{LOCATED}bye\n", 2),
    ],
)
def test_a_program_in_another_text_is_read_without_the_text_around_it(
    write: Callable[..., str], text: str, first: int
) -> None:
    file = find_file(write("issue.txt", text))
    assert file is not None
    assert file.text.lstrip("\n").startswith(LAYER[:400])
    assert file.text.count("\n", 0, file.text.index("module")) == first - 1
    assert list_functions(file) == ["main"]


@pytest.mark.parametrize(
    "text", [f"one\n{LAYER}two\n{LAYER}three", f"```\n{LAYER}```\n\n```mlir\n{LAYER}```\n", LAYER * 2]
)
def test_several_programs_in_a_text_have_numbers_and_their_own_lines(write: Callable[..., str], text: str) -> None:
    programs = list_files(write("issue.txt", text))
    assert [*programs] == ["1", "2"]
    lines = [file.text.count("\n", 0, file.text.index("module")) for file in programs.values()]
    assert [text.splitlines()[line] for line in lines] == [LINES[0]] * 2
    assert lines[1] - lines[0] >= len(LINES)
    with pytest.raises(InspectError, match=r"issue\.txt holds 2 programs; name one of them, such as issue\.txt:1"):
        find_file("issue.txt")


def test_a_module_inside_another_one_is_no_program_of_its_own(write: Callable[..., str]) -> None:
    inner = "".join(f"  {line}\n" for line in LINES)
    (file,) = list_files(write("issue.txt", f"hello\nmodule @outer {{\n{inner}}}\nbye\n")).values()
    assert file.text == f"\nmodule @outer {{\n{inner}}}\n"


@pytest.mark.parametrize(
    "around", ["// one\n{}", "#loc = loc(unknown)\n\n{}\n// end\n\n", "\n  \n{}#loc = loc(unknown)\n"]
)
def test_what_belongs_to_a_program_is_left_as_it_is(write: Callable[..., str], around: str) -> None:
    file = find_file(write("a.mlir", around.replace("{}", LAYER)))
    assert file is not None
    assert file.data.decode() == around.replace("{}", LAYER)


def test_a_folder_that_xla_dumped_is_no_folder_of_programs(write: Callable[..., str]) -> None:
    write("a.mlir", LAYER)
    assert (has_programs("."), [*list_files(".")]) == (True, ["a.mlir"])
    write("module_0001.jit_f.before_optimizations.txt", HLO)
    assert (has_programs("."), list_files(".")) == (False, {})
