"""The texts of one dumped module by what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from xla_inspect.dumps.file_names import PASS
from xla_inspect.dumps.files import unpack
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.dumps.dump_module import DumpedModule
    from xla_inspect.dumps.files import Files

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
    texts = ModuleTexts()
    between = module.between
    chosen: dict[str, str] = {}
    for ending, path in module.files.items():
        plain = ending.removesuffix(".gz")
        is_pass = bool(PASS.fullmatch(ending))
        if (ending in between if is_pass else plain.endswith((*_READ, ".o")) or plain == "ptx") and wanted(ending):
            chosen[path] = ending
    # An HloProto says what the text says: it is read where there is no text.
    for path, ending in [*chosen.items()]:
        if ".hlo.pb" in ending and name_text(ending) in module.files:
            del chosen[path]
    passes: dict[str, str] = {}
    for path, data in files.read_many(chosen):
        ending = chosen[path]
        try:
            if ending.endswith(".o"):
                texts.objects[ending] = data
                continue
            text = decode(data, path)
        except InspectError as error:
            texts.problems[ending] = str(error)
            continue
        if ending in between:
            passes[ending] = text
        elif ending.endswith("metadata.textproto"):
            texts.metadata = max(texts.metadata, text, key=len)
        else:
            texts.files[name_text(ending)] = text
    texts.files = dict(sorted(texts.files.items()))
    texts.passes = [(name_text(ending), passes[ending]) for ending in between if ending in passes]
    return texts


def name_text(ending: str) -> str:
    """Return what the text of a file is called that holds the same in another form: compressed, or as a protobuf."""
    return re.sub(r"\.hlo\.pb$", ".txt", ending.removesuffix(".gz"))


def decode(data: bytes, path: str) -> str:
    """Return the text that a file holds, as it is, compressed or as an `HloProto`.

    Raises:
        InspectError: It holds none.
    """
    if data.startswith(b"\x1f\x8b"):
        data = unpack(data)
    if path.removesuffix(".gz").endswith(".pb"):
        return read_proto(data)
    if b"\0" in data:
        message = f"{path} holds no text"
        raise InspectError(message)
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def read_proto(data: bytes) -> str:
    """Return the text of the module that a serialized `HloProto` holds.

    Raises:
        InspectError: It holds none.
    """
    try:
        hlo_proto = import_module("xla_inspect.hlo_proto")
    except ImportError as error:
        message = "an HloProto (.pb) is not read here yet; dump with --xla_dump_hlo_as_text"
        raise InspectError(message) from error
    text: str = hlo_proto.read_hlo_proto(data).text
    return text
