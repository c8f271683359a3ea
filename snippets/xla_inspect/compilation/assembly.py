"""A disassembler for a CPU's object files and an AMD GPU's code objects, because the compilers store no assembly."""

from __future__ import annotations

import importlib
import io
import re
from typing import TYPE_CHECKING

import capstone  # type: ignore[import-untyped]  # it ships no types
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from xla_inspect.compilation.code_objects import describe_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MACHINES = {
    "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
"""Processors by their names in ELF headers, with capstone's constants for them."""

# Jumps of x86 (`jmp`, `jae`, ...), of AArch64 (`b`, `b.ne`, `cbz`, `tbnz`, ...) and of AMD GPUs (`s_branch`,
# `s_cbranch_scc1`, ...), calls left out.
JUMP = re.compile(r"j\w+|b|b\.\w+|[ct]bn?z|s_c?branch\w*")
# Capstone prints an AArch64 address with `#` in front, and an x86 address without it.
JUMP_TARGET = re.compile(r"#?(0x[0-9a-f]+)$")
# LLVM prints the distance of a jump of an AMD GPU, in words of four bytes after the instruction.
AMD_DISTANCE = 1 << 15


def disassemble(data: bytes) -> str:
    """Return the assembly of an object file, Intel syntax on x86, with labels at functions and jump targets.

    Returns an empty string for data that is not an ELF file (as on macOS and Windows) or is for another processor.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
    except ELFError:
        return ""
    machine = MACHINES.get(elf["e_machine"])
    if machine is None:
        return ""
    decoder = capstone.Cs(*machine)
    lines: list[str] = []
    for index, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & 4 and section["sh_size"]:  # SHF_EXECINSTR
            functions = _find_functions(elf, index)
            lines += _print_section(decoder, section.data(), functions, _find_relocations(elf, index))
    return "\n".join(lines) + "\n" if lines else ""


def disassemble_kernels(code_object: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name and the assembly of each kernel in a code object of an AMD GPU, below its metadata as comments."""
    elf = ELFFile(io.BytesIO(code_object))
    note, symbols = elf.get_section_by_name(".note"), elf.get_section_by_name(".symtab")
    if note is None or not isinstance(symbols, SymbolTableSection):
        return
    for kernel, metadata in describe_kernels(note.data()).items():
        for symbol in symbols.get_symbol_by_name(kernel) or ():
            section = elf.get_section(symbol["st_shndx"])
            start = symbol["st_value"] - section["sh_addr"]
            # The section continues with padding, which the size of the symbol excludes.
            code = section.data()[start : start + symbol["st_size"]]
            lines = _print_section(AmdDecoder(metadata), code, {0: kernel}, {})
            yield kernel, "\n".join((metadata.rstrip("\n"), *lines)) + "\n"


class AmdDecoder:
    """LLVM's disassembler for AMD GPUs, which Capstone lacks, with the method of Capstone's that this module calls."""

    def __init__(self, metadata: str) -> None:
        """Create the disassembler for the GPU that the first line of a kernel's metadata names."""
        # The package is large and needed for no other target, and its type stubs are invalid.
        llvm = importlib.import_module("llvm")
        gpu, *features = metadata.removeprefix("; ").partition("\n")[0].split(":")
        signs = ",".join(feature[-1] + feature[:-1] for feature in features)
        self._context = llvm.Disasm.create("amdgcn-amd-amdhsa", gpu, signs)

    def disasm_lite(self, code: bytes, start: int) -> Iterator[tuple[int, int, str, str]]:
        """Yield the address, the size, the mnemonic and the operands of each instruction; unknown bytes are `.long`."""
        at = 0
        while at < len(code):
            size, text = self._context.disasm_instruction(code, at, start + at)
            mnemonic, _, operands = text.strip().partition(" ")
            if not size:
                size, mnemonic, operands = 4, ".long", f"0x{int.from_bytes(code[at : at + 4], 'little'):08x}"
            elif JUMP.fullmatch(mnemonic) and operands.isdecimal():
                # The distance is a signed number of 16 bits that LLVM prints without its sign.
                words = int(operands) - (2 * AMD_DISTANCE if int(operands) >= AMD_DISTANCE else 0)
                operands = f"{start + at + size + 4 * words:#x}"
            yield start + at, size, mnemonic, operands
            at += size


def _find_functions(elf: ELFFile, section: int) -> dict[int, str]:
    """Return the name of each function in a section, by its offset."""
    return {
        # In an object file, which is not linked yet, a symbol's value is its offset in the section.
        symbol["st_value"]: symbol.name
        for table in elf.iter_sections()
        if isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] == section and symbol["st_info"]["type"] == "STT_FUNC"
    }


def _find_relocations(elf: ELFFile, section: int) -> dict[int, str]:
    """Return, by offset in a section, the symbol of each address that the linker fills in."""
    symbols_by_offset: dict[int, str] = {}
    for table in elf.iter_sections():
        if not isinstance(table, RelocationSection) or table["sh_info"] != section:
            continue
        symbols = elf.get_section(table["sh_link"])
        if not isinstance(symbols, SymbolTableSection):
            continue
        for relocation in table.iter_relocations():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            # A symbol for a whole section has no name of its own, so the section's name takes its place.
            name = symbol.name or elf.get_section(symbol["st_shndx"]).name
            symbols_by_offset[relocation["r_offset"]] = name
    return symbols_by_offset


def _print_section(
    decoder: capstone.Cs | AmdDecoder, code: bytes, functions: Mapping[int, str], relocations: Mapping[int, str]
) -> Iterator[str]:
    """Yield the lines of assembly of one section."""
    # The whole section is decoded first, because a jump forward needs the label of an address that follows.
    decoded = list(decoder.disasm_lite(code, 0))
    targets = {address: _find_target(mnemonic, operands) for address, _, mnemonic, operands in decoded}
    # A jump to the start of a function uses the function's name as its label.
    inner = {target for target in targets.values() if target is not None} - functions.keys()
    labels = {address: f".L{number}" for number, address in enumerate(sorted(inner), start=1)} | dict(functions)
    for address, size, mnemonic, operands in decoded:
        if address in labels:
            yield f"{labels[address]}:"
        target = targets[address]
        text = operands if target is None else JUMP_TARGET.sub(labels[target], operands)
        # On x86 the linker fills in an operand, whose relocation has an offset inside the instruction.
        linked = [relocations[at] for at in range(address, address + size) if at in relocations]
        if linked:
            text = f"{text:<40} # {', '.join(linked)}"
        yield f"    {mnemonic:<12} {text}".rstrip()


def _find_target(mnemonic: str, operands: str) -> int | None:
    """Return the constant address that an instruction jumps to, or None if it has no such target."""
    match = JUMP_TARGET.search(operands) if JUMP.fullmatch(mnemonic) else None
    return int(match[1], 16) if match else None
