"""The machine code of AMD GPUs is that of the compiler, with its registers, memory and labels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from programs import attention
from xla_inspect import capture, jax_private
from xla_inspect.analysis.machine import describe_kernels, read_resources
from xla_inspect.compilation import count_registers, object_code
from xla_inspect.compilation.code_objects import FIELDS, unpack_snappy
from xla_inspect.compilation.code_objects import describe_kernels as describe_note
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.questions.kernels import rank_launches

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect.captured import Capture

AMD = ("mi250", "mi300x", "mi350x")
MATRIX = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)
SORTED = jax.ShapeDtypeStruct((4096,), jnp.float32)


def multiply(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def sort(x: jax.Array) -> jax.Array:
    return jnp.sort(x)


def list_assembly(program: Capture) -> dict[str, str]:
    """Return the assembly of each kernel by its name."""
    return {code.kernel: code.text for code in program.code if code.language == "asm"}


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", AMD)
def test_each_launched_kernel_has_assembly_below_its_resources(target: str) -> None:
    program = capture(attention.attention, *attention.EXAMPLE, target=target, passes=False)
    assembly = list_assembly(program)
    assert assembly.keys() == {thunk.symbol for thunk in program.thunks if thunk.symbol}
    assert {code.language for code in program.code} >= {"triton", "llvm-unoptimized", "asm"}
    for text in assembly.values():
        resources = read_resources(text)
        assert resources is not None
        assert 0 < resources.registers <= 512
        assert 0 < resources.scalar <= 108
        assert "; 64 threads in a wave" in text
        assert text.rstrip().endswith("s_endpgm")
        assert ".long" not in text


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", AMD)
def test_each_jump_of_the_assembly_leads_to_a_label(target: str) -> None:
    long = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((256, 8192), (8192, 256)))
    for function, arguments, is_loop in ((sort, [SORTED], False), (multiply, long, True)):
        program = capture(function, *arguments, target=target, passes=False)
        text = max(list_assembly(program).values(), key=len)
        labels = {match[1]: match.start() for match in re.finditer(r"^(\S+):$", text, re.MULTILINE)}
        jumps = {match.start(): match[1] for match in re.finditer(r"^    s_c?branch\w* +(\S+)", text, re.MULTILINE)}
        assert jumps
        assert {*jumps.values()} <= labels.keys()
        assert any(labels[label] < at for at, label in jumps.items()) == is_loop


LISTING = """
import io, json, sys
import jax, jax.numpy as jnp
from elftools.elf.elffile import ELFFile
from xla_inspect import jax_private
from xla_inspect.compilation import begin_capture, describe_program
from xla_inspect.compilation.code_objects import find_code_objects
executables, serialize = [], jax_private.serialize
jax_private.serialize = lambda executable: executables.append(serialize(executable)) or executables[-1]
program = describe_program(jax.nn.softmax, (jax.ShapeDtypeStruct((96, 640), jnp.float32),), {})
code = begin_capture(program, sys.argv[1], {}, passes=False, timed=False)().code
objects = [ELFFile(io.BytesIO(data)) for data in find_code_objects(executables[-1])]
sections = [section for elf in objects if (section := elf.get_section_by_name(".AMDGPU.disasm"))]
assembly = {piece.kernel: piece.text for piece in code if piece.language == "asm"}
print(json.dumps({"assembly": assembly, "listings": [section.data().decode() for section in sections]}))
"""


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("target", "kernel"), [("mi300x", "triton_softmax_2"), ("mi350x", "triton_softmax_2")])
def test_the_assembly_is_the_one_that_the_compiler_itself_lists(target: str, kernel: str, tmp_path: Path) -> None:
    # LLVM's feature `dumpcode` makes the compiler add its own listing to the code object. It can be set for a function
    # by a file with its name, until the first linking in a process, so it works for one kernel in a new process.
    attributes = tmp_path / "attributes.csv"
    attributes.write_text(f"{kernel},target-features=+dumpcode\n")
    environment = {
        **os.environ,
        "XLA_FLAGS": f"--xla_backend_extra_options=-forceattrs-csv-path={attributes}",
        "XLA_INSPECT_CACHE": str(tmp_path),
        "CAPTURES": "off",
    }
    process = subprocess.run(
        [sys.executable, "-c", LISTING, target], env=environment, capture_output=True, text=True, check=True
    )
    result = json.loads(process.stdout)
    (listing,) = result["listings"]
    theirs = [line.partition(";")[0].split() for line in listing.splitlines() if ";" in line]
    ours = [line.split() for line in result["assembly"][kernel].splitlines() if line.startswith("    ")]
    assert len(theirs) > 100
    # The listing is printed before the distances of jumps are known.
    assert [line for line in ours if "branch" not in line[0]] == [line for line in theirs if "branch" not in line[0]]


@pytest.mark.usefixtures("all_targets")
def test_the_code_is_found_in_an_executable_of_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # The constant does not compress, so the executable is longer than three blocks of 64 KiB.
    table = np.random.default_rng(0).standard_normal(65536).astype(np.float32)
    sizes: list[int] = []
    serialize = jax_private.serialize

    def note(executable: jax.stages.Compiled) -> bytes:
        data = serialize(executable)
        sizes.append(len(data))
        return data

    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.setattr(jax_private, "serialize", note)
    program = capture(lambda x: x * table, jax.ShapeDtypeStruct((65536,), jnp.float32), target="mi300x", passes=False)
    assert sizes[0] > 3 * 65536
    assert list_assembly(program).keys() == {thunk.symbol for thunk in program.thunks if thunk.symbol}


@pytest.mark.usefixtures("all_targets")
def test_a_matmul_is_counted_among_the_instructions_of_matrix_cores() -> None:
    (kernel,) = describe_kernels(capture(multiply, MATRIX, MATRIX, target="mi300x", passes=False))
    assert kernel.mix is not None
    assert kernel.mix.counts["matrix cores"] == sum("v_mfma" in line for line in _read_lines(kernel.name))
    assert not kernel.mix.unknown


def _read_lines(kernel: str) -> list[str]:
    return list_assembly(capture(multiply, MATRIX, MATRIX, target="mi300x", passes=False))[kernel].splitlines()


@pytest.mark.usefixtures("all_targets")
def test_the_launches_of_a_capture_show_its_registers_and_lds() -> None:
    program = capture(sort, SORTED, target="mi250", passes=False)
    (row,) = (row for row in rank_launches(program).launches if row.registers is not None)
    resources = read_resources(list_assembly(program)[row.symbol])
    assert resources is not None
    assert (row.registers, row.shared_bytes, row.spilled_bytes) == (resources.registers, resources.shared, 0)
    assert resources.shared == 2 * 4096 * 4  # the array and its indices
    text = str(rank_launches(program, names=[row.name]))
    assert "VGPRs" in text
    assert "LDS" in text
    assert "of a compute unit's waves" in text
    assert "64 threads run in step as a wave" in " ".join(text.split())


@pytest.mark.usefixtures("all_targets")
def test_a_missing_disassembler_is_reported_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    find: Callable[[str], str | None] = object_code.find_version
    monkeypatch.setattr(object_code, "find_version", lambda name: None if name == "llvm-nanobind" else find(name))
    program = capture(sort, SORTED, target="mi300x", passes=False)
    assert not list_assembly(program)
    with pytest.raises(TargetUnavailableError, match="llvm-nanobind not installed; run"):
        count_registers(program)


@pytest.mark.usefixtures("all_targets")
def test_an_executable_of_another_form_leaves_a_capture_without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    serialize = jax_private.serialize
    monkeypatch.setattr(jax_private, "serialize", lambda executable: serialize(executable)[:8192])
    program = capture(sort, SORTED, target="mi300x", passes=False)
    assert program.after
    assert not list_assembly(program)
    with pytest.raises(TargetUnavailableError, match="cannot read the executables"):
        count_registers(program)


def test_the_fields_of_several_kernels_are_told_apart() -> None:
    def write(name: str, first: int) -> bytes:
        # Numbers of one, two and four bytes follow a byte that tells their size.
        numbers = [bytes([first]), b"\xcc\xff", b"\xcd\x01\x00", b"\xce\x00\x01\x00\x00", *[b"\x01"] * 5]
        pairs = zip(FIELDS, numbers, strict=True)
        fields = b"".join(bytes([0xA0 | len(field)]) + field.encode() + number for field, number in pairs)
        symbol = f"{name}.kd".encode()
        return fields + b"\xa7.symbol" + bytes([0xA0 | len(symbol)]) + symbol

    texts = describe_note(write("first", 7) + write("second", 9) + b"amdgcn-unknown-amdhsa-amdgiz-gfx950:xnack-")
    assert texts.keys() == {"first", "second"}
    assert texts["first"].splitlines()[:2] == ["; gfx950:xnack-", f"; 7 {FIELDS['.vgpr_count'][1]}"]
    resources = read_resources(texts["second"])
    assert resources is not None
    # A spill is the store of a register, which has four bytes.
    assert (resources.registers, resources.scalar, resources.spilled) == (9, 256, 4 * 65536)


def test_snappy_repeats_what_it_has_written() -> None:
    # A literal of two bytes, five bytes from two bytes before, and three bytes from one byte before.
    assert unpack_snappy(b"\x0a\x04ab" + b"\x05\x02" + b"\x0a\x01\x00") == b"abababaaaa"[:7] + b"aaa"
    long = bytes(range(256)) * 2
    assert unpack_snappy(b"\x80\x04" + b"\xf4\xff\x01" + long) == long


@pytest.mark.parametrize("data", [b"\x05\x04ab", b"\x05\x05\x02", b"\x02\x04ab\x05\x00"])
def test_damaged_data_is_refused(data: bytes) -> None:
    with pytest.raises(EOFError):
        unpack_snappy(data)
