"""The texts of one dumped module, by the end of the file's name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from xla_inspect.dumps.file_names import OPTIMIZED, PASS
from xla_inspect.dumps.files import is_gzip, unpack
from xla_inspect.dumps.inner_modules import list_inner
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.dumps.dump_module import DumpedModule
    from xla_inspect.dumps.files import Files

_PLAN = "-buffer-assignment.txt"
_READ = (".txt", ".ll", ".ptx", ".mlir", ".pbtxt", ".textproto", ".hlo.pb", ".hlo")


@dataclass
class ModuleTexts:
    """The contents of a module's files, by kind of file.

    Attributes:
        files: Texts by the part of the file's name after the module's name; an `HloProto` counts as a text.
        objects: Object files' bytes, by the same part of the name.
        passes: Texts of the modules dumped between passes, by file name, in order.
        metadata: The text of the record of pass runs, or an empty string (a CPU compile writes none).
        problems: Reasons that existing files could not be read, by the part of the name.
    """

    files: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    passes: list[tuple[str, str]] = field(default_factory=list)
    metadata: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    def find(self, ending: str) -> str:
        """Return the text of the file whose name has this end, or an empty string."""
        return next((text for name, text in self.files.items() if name.endswith(ending)), "")


def read_texts(files: Files, module: DumpedModule, is_wanted: Callable[[str], bool] = lambda _: True) -> ModuleTexts:
    """Return the texts of a module, optionally only those whose file names have a wanted end.

    Raises:
        InspectError: A file cannot be read. A file that is readable but not valid is listed in `problems` instead.
    """
    texts, between, chosen = ModuleTexts(), module.between, _choose(module, is_wanted)
    passes: dict[str, str] = {}
    for path, data in files.read_many(chosen):
        ending = chosen[path]
        try:
            if ending.endswith(".o"):
                texts.objects[ending] = data
                continue
            text, plan = decode(data, ending, module.part)
        except InspectError as error:
            texts.problems[ending] = str(error)
            continue
        if ending in between:
            passes[ending] = text
        elif ending.endswith("metadata.textproto"):
            texts.metadata = max(texts.metadata, text, key=len)
        else:
            # A text file is preferred to the text made from a proto.
            name = name_text(ending)
            texts.files[name] = text if name == ending else texts.files.get(name, text)
            if plan:
                texts.files.setdefault(name.removesuffix(".txt") + _PLAN, plan)
    texts.files = dict(sorted(texts.files.items()))
    texts.passes = [(name_text(ending), passes[ending]) for ending in between if ending in passes]
    return texts


def _choose(module: DumpedModule, is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Return the wanted files of a module, ends of names by path: an `HloProto` only if no text has all of its data."""
    between = module.between
    has_plan = any(ending.endswith(_PLAN) for ending in module.files)
    chosen: dict[str, str] = {}
    for ending, path in module.files.items():
        is_read = ending.removesuffix(".gz").endswith((*_READ, ".o")) or ending == "ptx"
        # A module between passes may be there twice, and `between` has the one that is preferred.
        is_read = ending in between if PASS.fullmatch(ending) else is_read
        if is_read and is_wanted(ending) and not _is_told(ending, module.files, has_plan=has_plan):
            chosen[path] = ending
    return chosen


def _is_told(ending: str, files: Mapping[str, str], *, has_plan: bool) -> bool:
    """Return whether texts have all the data of a file, which is then a redundant `HloProto`."""
    has_text = ".hlo.pb" in ending and name_text(ending) in files
    return has_text and (has_plan or not OPTIMIZED.fullmatch(ending))


def name_text(ending: str) -> str:
    """Return the name of the text file that corresponds to a compressed file or a protobuf."""
    return re.sub(r"\.hlo\.pb$", ".txt", ending.removesuffix(".gz"))


def decode(data: bytes, ending: str, part: int = 0) -> tuple[str, str]:
    """Return the text in a file, plain, compressed or of an `HloProto`, and the `HloProto`'s buffer assignment or "".

    Args:
        data: The contents of the file.
        ending: The end of the file's name, which determines the format.
        part: The index of the module in a binary file that holds several.

    Raises:
        InspectError: The file contains no text.
    """
    if is_gzip(data):
        data = unpack(data)
    if ending.removesuffix(".gz").endswith(".pb"):
        proto = read_hlo_proto(next(islice(list_inner(data), part, None)).data)
        return proto.text, proto.buffers
    if b"\0" in data:
        message = f"{ending} holds no text"
        raise InspectError(message)
    # A dump from Windows, or one that passed through it, has other line ends.
    return data.decode("utf-8", "replace").replace("\r\n", "\n"), ""
