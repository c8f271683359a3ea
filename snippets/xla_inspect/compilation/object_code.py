"""The assembly of a CPU's or an AMD GPU's kernels, from object files or from the executable."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from xla_inspect import dumps
from xla_inspect.captured import Code
from xla_inspect.installation import install_line
from xla_inspect.targets import find_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ANY = ("capstone", "pyelftools")
DISASSEMBLERS: Mapping[str, tuple[str, ...]] = {"cpu": _ANY, "rocm": (*_ANY, "llvm-nanobind")}
"""The packages that turn object files into assembly, by platform: an extra of the wheel, `asm`."""


def collect_assembly(objects: Mapping[str, bytes]) -> Iterator[Code]:
    """Yield the assembly of each ELF object file as `Code`, or nothing if the disassembler's packages are missing.

    Args:
        objects: Object files by the ends of their names, as in `ModuleTexts.objects`.
    """
    if explain_no_assembly():
        return
    # The import is local because the disassembler takes longer to import than a cached capture takes to read.
    from xla_inspect.compilation.assembly import disassemble

    for name, data in objects.items():
        # The disassembler returns nothing for an object file of another format than ELF.
        if (kernel := dumps.name_object(name)) and (assembly := disassemble(data)):
            yield Code(kernel, "asm", assembly)


def collect_kernels(serialized: bytes) -> Iterator[Code]:
    """Yield the assembly of each kernel of an AMD GPU's executable, or nothing without the disassembler's packages."""
    if not serialized or explain_no_assembly("rocm"):
        return
    from xla_inspect.compilation.assembly import disassemble_kernels
    from xla_inspect.compilation.code_objects import find_code_objects

    # Another release may serialize executables in another form, and all else of the capture does not depend on it.
    with suppress(EOFError, ValueError):
        for code_object in find_code_objects(serialized):
            yield from (Code(kernel, "asm", text) for kernel, text in disassemble_kernels(code_object))


def explain_no_assembly(platform: str = "cpu") -> str:
    """Return the reason that a capture has no assembly on this machine, and a remedy, or an empty string."""
    missing = [name for name in DISASSEMBLERS.get(platform, ()) if find_version(name) is None]
    return f"{' and '.join(missing)} not installed; run `{install_line('asm')}`" if missing else ""
