"""Collectors of generated code from the texts of a dumped module, by kernel and language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.captured import Code
from xla_inspect.dumps.normalize import Frames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.dumps.module_texts import ModuleTexts

_WHOLE = "module"
"""The name for the code of all kernels in one file, as XLA wrote it until 2025."""

PTX_ENTRY = re.compile(r"\.entry (\w+)\(")
LLVM_KERNEL = re.compile(r"^define (?:\w+ )*(?:ptx|amdgpu)_kernel void @\"?([\w.]+)\"?\(", re.MULTILINE)
CPU_MODULE = re.compile(
    r"(?:__compute_module_)?(?P<kernel>.*?)(?:_kernel_module)?\.?(?P<stage>ir-(?:no|with)-opt)(?:\.(?P<part>part_\d+))?\.ll"
)
OBJECT = re.compile(r"obj-file\.(?:__compute_module_)?(?P<kernel>.*?)(?:_kernel_module)?\.o")
NODE = re.compile(r"^!(\d+) = ")
REFERENCE = re.compile(r'!"[^"]*"|!(\d+)\b')
LIBRARY = re.compile(r'libpath = "[^"]*/([^"/]+)"')


def collect_gpu(texts: ModuleTexts) -> tuple[Code, ...]:
    """Return Triton IR, LLVM IR before and after optimization, and PTX of each kernel."""
    pieces = []
    for name, text in texts.files.items():
        # XLA dumps the Triton IR of a kernel a second time before it is validated.
        if name.endswith(".ttir.txt") and "before_validation" not in name:
            # The path of the device library depends on this machine.
            pieces.append(Code(name.removesuffix(".ttir.txt"), "triton", LIBRARY.sub(r'libpath = "\1"', text)))
        elif name.endswith("ptx"):
            pieces.extend(Code(kernel, "ptx", text) for kernel in _name_whole(PTX_ENTRY.findall(text)))
        elif name.endswith(".ll"):
            language = "llvm" if "with-opt" in name else "llvm-unoptimized"
            kernels = _name_whole(LLVM_KERNEL.findall(text))
            pieces.extend(Code(kernel, language, renumber(text)) for kernel in kernels)
    return sort_code(pieces)


def _name_whole(kernels: list[str]) -> list[str]:
    """Return a list with the only kernel of a text, with `module` for several kernels, or with nothing for none."""
    return kernels if len(kernels) < 2 else [_WHOLE]  # noqa: PLR2004 - several


def collect_cpu(texts: ModuleTexts) -> tuple[Code, ...]:
    """Return LLVM IR of each kernel before and after optimization; its machine code is in the object files."""
    pieces = []
    for name, text in texts.files.items():
        if match := CPU_MODULE.fullmatch(name):
            language = "llvm" if match["stage"] == "ir-with-opt" else "llvm-unoptimized"
            pieces.append(Code(match["kernel"] or match["part"] or _WHOLE, language, renumber(text)))
    return sort_code(pieces)


def name_object(name: str) -> str:
    """Return the kernel whose machine code is in a file, or an empty string if it is not a kernel's object file."""
    match = OBJECT.fullmatch(name)
    return match["kernel"] if match else ""


def collect_tpu(texts: ModuleTexts) -> tuple[Code, ...]:
    """Return the scheduled module that the code generator starts from; `llo_dumps` collects the programs below it."""
    text = texts.find("after_codegen.txt")
    return (Code("module", "hlo", Frames().clean(text)),) if text else ()


def renumber(text: str) -> str:
    """Return LLVM IR with its metadata nodes numbered in the order of their first mention.

    The optimizer numbers some nodes (the `!noalias` scopes) by the memory addresses of its objects, which vary.
    """
    body: list[str] = []
    nodes: dict[str, str] = {}
    for line in text.split("\n"):
        if match := NODE.match(line):
            nodes[match[1]] = line
        else:
            body.append(line)
    numbers: dict[str, int] = {}

    def mention(line: str) -> None:
        for match in REFERENCE.finditer(line):
            if match[1] in nodes:
                numbers.setdefault(match[1], len(numbers))

    def rewrite(line: str) -> str:
        return REFERENCE.sub(lambda match: f"!{numbers[match[1]]}" if match[1] in numbers else match[0], line)

    for line in body:
        mention(line)
    ordered: list[str] = []
    # Nodes may refer to nodes that the code does not mention, so this repeats until no new node appears.
    while len(ordered) < len(numbers):
        ordered = list(numbers)
        for key in ordered:
            mention(nodes[key].partition(" = ")[2])
    # The nodes are inserted before the last line end, so that the text still ends with one.
    end = len(body) - 1 if body and not body[-1] else len(body)
    return "\n".join(map(rewrite, [*body[:end], *(nodes[key] for key in ordered), *body[end:]]))


def sort_code(pieces: Iterable[Code]) -> tuple[Code, ...]:
    """Return the pieces of code, sorted by kernel, language and text."""
    # Compilers write kernels in parallel, so the order of the files has no meaning.
    return tuple(sorted(pieces, key=lambda code: (code.kernel, code.language, code.text)))


COLLECT = {"cpu": collect_cpu, "gpu": collect_gpu, "tpu": collect_tpu}
"""The functions that collect a module's code, by kind of target."""
