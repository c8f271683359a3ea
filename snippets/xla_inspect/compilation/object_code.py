"""The assembly of a CPU's kernels, which the compiler leaves as object files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.captured import Code
from xla_inspect.dumps import name_object
from xla_inspect.installation import install_line
from xla_inspect.targets import find_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DISASSEMBLERS = ("capstone", "pyelftools")
"""The packages that turn object files into assembly: an extra of the wheel, `asm`."""


def collect_assembly(objects: Mapping[str, bytes]) -> Iterator[Code]:
    """Yield the assembly of each kernel, none where the packages for it are not installed.

    Args:
        objects: Object files by what their names say, as `ModuleTexts.objects` has them.
    """
    if explain_no_assembly():
        return
    # The disassembler takes longer to import than a cached capture to read.
    from xla_inspect.compilation.assembly import disassemble

    for name, data in objects.items():
        if (kernel := name_object(name)) and (assembly := disassemble(data)):
            yield Code(kernel, "asm", assembly)


def explain_no_assembly() -> str:
    """Return why a capture for the CPU holds no assembly here and what to do about it, or an empty string."""
    missing = [name for name in DISASSEMBLERS if find_version(name) is None]
    return f"{' and '.join(missing)} not installed; run `{install_line('asm')}`" if missing else ""
