"""The texts of one dumped module by what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.dumps.file_names import OPTIMIZED, PASS
from xla_inspect.dumps.files import is_gzip, unpack
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
    """The files of a module by what they are.

    Attributes:
        files: The part of a file's name behind the module's name, that of an `HloProto` as if it were a text -> text.
        objects: Likewise the bytes of object files.
        passes: File names of the modules dumped between passes, in order, with their text.
        metadata: The text of the record of pass runs, or an empty string (a CPU compile writes none).
        problems: Why a file that is there could not be read, by the part of its name.
    """

    files: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    passes: list[tuple[str, str]] = field(default_factory=list)
    metadata: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    def find(self, ending: str) -> str:
        """Return the text of the file whose name ends so, or an empty string."""
        return next((text for name, text in self.files.items() if name.endswith(ending)), "")


def read_texts(files: Files, module: DumpedModule, wanted: Callable[[str], bool] = lambda _: True) -> ModuleTexts:
    """Return the texts of a module, or of them those that are wanted by the ends of their names.

    Raises:
        InspectError: A file cannot be read; one that can be and makes no sense is a problem.
    """
    texts, between, chosen = ModuleTexts(), module.between, _choose(module, wanted)
    passes: dict[str, str] = {}
    for path, data in files.read_many(chosen):
        ending = chosen[path]
        try:
            if ending.endswith(".o"):
                texts.objects[ending] = data
                continue
            text, plan = decode(data, ending)
        except InspectError as error:
            texts.problems[ending] = str(error)
            continue
        if ending in between:
            passes[ending] = text
        elif ending.endswith("metadata.textproto"):
            texts.metadata = max(texts.metadata, text, key=len)
        else:
            # A text in a file is taken before that of a proto.
            name = name_text(ending)
            texts.files[name] = text if name == ending else texts.files.get(name, text)
            if plan:
                texts.files.setdefault(name.removesuffix(".txt") + _PLAN, plan)
    texts.files = dict(sorted(texts.files.items()))
    texts.passes = [(name_text(ending), passes[ending]) for ending in between if ending in passes]
    return texts


def _choose(module: DumpedModule, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Return the files of a module that are read, by their paths: a proto only where no text tells all of it."""
    between = module.between
    has_plan = any(ending.endswith(_PLAN) for ending in module.files)
    chosen: dict[str, str] = {}
    for ending, path in module.files.items():
        is_read = ending.removesuffix(".gz").endswith((*_READ, ".o")) or ending == "ptx"
        is_read = ending in between if PASS.fullmatch(ending) else is_read
        if is_read and wanted(ending) and not _is_told(ending, module.files, has_plan=has_plan):
            chosen[path] = ending
    return chosen


def _is_told(ending: str, files: Mapping[str, str], *, has_plan: bool) -> bool:
    """Return whether texts tell all that a file tells, which is an `HloProto` then."""
    told = ".hlo.pb" in ending and name_text(ending) in files
    return told and (has_plan or not OPTIMIZED.fullmatch(ending))


def name_text(ending: str) -> str:
    """Return what the text of a file is called that holds the same in another form: compressed, or as a protobuf."""
    return re.sub(r"\.hlo\.pb$", ".txt", ending.removesuffix(".gz"))


def decode(data: bytes, ending: str) -> tuple[str, str]:
    """Return the text that a file holds, as it is, compressed or as an `HloProto`, and the memory plan that is with it.

    Args:
        data: What the file holds.
        ending: What it is of its module, which tells the form.

    Raises:
        InspectError: It holds none.
    """
    if is_gzip(data):
        data = unpack(data)
    if ending.removesuffix(".gz").endswith(".pb"):
        proto = read_hlo_proto(data)
        return proto.text, proto.buffers
    if b"\0" in data:
        message = f"{ending} holds no text"
        raise InspectError(message)
    return data.decode("utf-8", "replace").replace("\r\n", "\n"), ""
