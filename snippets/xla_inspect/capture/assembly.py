"""Disassemble the object files of a CPU compile: the compiler keeps no assembly of its own."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import capstone  # type: ignore[import-untyped]  # it ships no types
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MACHINES = {
    "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
"""What an ELF header names a processor, and what capstone does."""


def disassemble(data: bytes) -> str:
    """Return the assembly of an object file, Intel syntax on x86, with labels at functions and jump targets.

    Returns an empty string for what is no ELF file, as on macOS and Windows.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
    except ELFError:
        return ""
    machine = MACHINES.get(elf["e_machine"])
    if machine is None:
        return ""
    decoder = capstone.Cs(*machine)
    decoder.detail = True
    lines: list[str] = []
    for index, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & 4 and section["sh_size"]:  # SHF_EXECINSTR
            functions = _find_functions(elf, index)
            lines += _print_section(decoder, section.data(), functions, _find_relocations(elf, index))
    return "\n".join(lines) + "\n" if lines else ""


def _find_functions(elf: ELFFile, section: int) -> dict[int, str]:
    """Return the offset and name of each function in a section."""
    return {
        symbol["st_value"]: symbol.name
        for table in elf.iter_sections()
        if isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] == section and symbol["st_info"]["type"] == "STT_FUNC"
    }


def _find_relocations(elf: ELFFile, section: int) -> dict[int, str]:
    """Return the offset in a section of each address that the linker fills in, and what it will be the address of."""
    found: dict[int, str] = {}
    for table in elf.iter_sections():
        if not isinstance(table, RelocationSection) or table["sh_info"] != section:
            continue
        symbols = elf.get_section(table["sh_link"])
        if not isinstance(symbols, SymbolTableSection):
            continue
        for relocation in table.iter_relocations():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            name = symbol.name or elf.get_section(symbol["st_shndx"]).name
            found[relocation["r_offset"]] = name
    return found


def _print_section(
    decoder: capstone.Cs, code: bytes, functions: Mapping[int, str], relocations: Mapping[int, str]
) -> Iterator[str]:
    """Yield the lines of one section."""
    instructions = list(decoder.disasm(code, 0))
    jumps = {int(each.op_str.lstrip("#"), 16) for each in instructions if _is_jump(each)} - functions.keys()
    labels = {address: f".L{number}" for number, address in enumerate(sorted(jumps), start=1)}
    for each in instructions:
        if each.address in functions:
            yield f"{functions[each.address]}:"
        elif each.address in labels:
            yield f"{labels[each.address]}:"
        operands = each.op_str
        if _is_jump(each):
            target = int(operands.lstrip("#"), 16)
            operands = labels.get(target) or functions[target]
        linked = [relocations[at] for at in range(each.address, each.address + each.size) if at in relocations]
        if linked:
            operands = f"{operands:<40} # {', '.join(linked)}"
        yield f"    {each.mnemonic:<12} {operands}".rstrip()


def _is_jump(instruction: capstone.CsInsn) -> bool:
    """Return whether an instruction jumps to an address that it holds."""
    return bool(instruction.group(capstone.CS_GRP_JUMP)) and instruction.op_str.lstrip("#").startswith("0x")
