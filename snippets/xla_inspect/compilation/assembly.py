"""A disassembler for the object files of a CPU compile, because the compiler stores no assembly."""

from __future__ import annotations

import io
import re
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
"""Processors by their names in ELF headers, with capstone's constants for them."""

# Jumps of x86 (`jmp`, `jae`, ...) and of AArch64 (`b`, `b.ne`, `cbz`, `tbnz`, ...), calls left out.
JUMP = re.compile(r"j\w+|b|b\.\w+|[ct]bn?z")
# Capstone prints an AArch64 address with `#` in front, and an x86 address without it.
JUMP_TARGET = re.compile(r"#?(0x[0-9a-f]+)$")


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
    decoder: capstone.Cs, code: bytes, functions: Mapping[int, str], relocations: Mapping[int, str]
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
