"""The ROCm libraries that the compiler for AMD GPUs needs: the installed ones, or stand-ins for them.

The compiler works without a GPU, but the system's loader accepts it only together with a dozen libraries of ROCm, which
the package registry does not have. Where they are missing, this module writes libraries of the same names, from the
symbols that the installed plugin asks for. Their functions do nothing, and nearly all report an error, so a program can
be compiled and nothing can run. They are loaded by their paths, so no other process finds them.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import folders, store
from xla_inspect.targets.stand_in import RECORD, Function, write_library

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_DEVICE, FAILURE, SUCCESS = 100, -1, 0
"""The status of HIP's functions (`hipErrorNoDevice`), of most others, and of the profiler's functions.

The profiler must start, because the durations of passes come from a profile of the compile; of a GPU it has no events.
"""

FOLDER = "stand-ins"
"""The folder of the libraries, in the cache."""

CALLS, KEPT = "last-call-{process}", 64
"""The name of the file with the number of a process's last call, which outlives a crash, and how many are kept."""

_SYSTEM = re.compile(r"GLIBC|GCC_|CXXABI_")
_GIVES_TEXT = re.compile(r"(?:String|Name|to_string|status_string)$")
_last_call = ctypes.c_uint32()


@cache
def load_libraries(plugin: Path) -> None:
    """Load what a plugin needs from ROCm into this process: ROCm's libraries if they are installed, else stand-ins.

    Raises:
        OSError: The loader refuses the plugin for another reason than a missing library, or refuses a stand-in.
    """
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        if "cannot open shared object file" not in str(error):
            raise
    else:
        return
    symbols = list_symbols(plugin)
    folder = _find_folder()
    first, record = 1, ctypes.addressof(_last_call)
    for library, owned in symbols.items():
        functions = [Function(name, version, _choose_status(name)) for name, version in owned]
        data, path = write_library(library, functions, first), folder / library
        # A library for another plugin, and one that somebody changed, is written again before it is loaded.
        if store.read_stored(path) != data:
            store.write_whole(path, data)
        ctypes.c_void_p.in_dll(ctypes.CDLL(str(path)), RECORD).value = record
        first += len(functions)
    if folder.name != FOLDER:
        # What is loaded needs no file.
        shutil.rmtree(folder, ignore_errors=True)


def _find_folder() -> Path:
    """Return a folder for the libraries, after making the file with the number of this process's last call in it."""
    global _last_call  # noqa: PLW0603 - of the process
    name, cached = CALLS.format(process=os.getpid()), folders.find_cache()
    try:
        folder = (cached or Path(os.devnull)) / FOLDER
        store.write_whole(folder / name, bytes(4))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="xla_inspect_"))
        store.write_whole(folder / name, bytes(4))
    atexit.register((folder / name).unlink, missing_ok=True)
    # A process that crashes leaves its file.
    store.evict(folder, CALLS.format(process="*"), number=KEPT)
    with (folder / name).open("r+b") as file:
        _last_call = ctypes.c_uint32.from_buffer(mmap.mmap(file.fileno(), 4))
    # The libraries may still write to it while the process ends, when Python drops what this module holds.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_last_call))
    return folder


def forget_calls() -> None:
    """Forget the calls of stand-ins until now."""
    _last_call.value = 0


def name_call(plugin: Path | None, crashed: int | None = None) -> str:
    """Return the last function of a stand-in that was called, with its library, or an empty string if there is none.

    Args:
        plugin: The plugin, or None if there is none.
        crashed: The number of a process that crashed, by default this process.
    """
    number, cached = _last_call.value, folders.find_cache()
    if crashed is not None:
        path = (cached or Path(os.devnull)) / FOLDER / CALLS.format(process=crashed)
        number = int.from_bytes(store.read_stored(path) or b"", sys.byteorder)
    if not number or plugin is None:
        return ""
    return [f"{name} of {library}" for library, owned in list_symbols(plugin).items() for name, _ in owned][number - 1]


def _choose_status(name: str) -> int | None:
    if _GIVES_TEXT.search(name):
        return None
    if name.startswith("rocprofiler"):
        return SUCCESS
    return NO_DEVICE if name.startswith("hip") else FAILURE


@cache
def list_symbols(plugin: Path) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return the symbols that a plugin needs from each library that this machine lacks, each with its version or "".

    A symbol without a version may be in any library; it is listed with the one whose name it contains, or else with the
    one that has no other symbol.
    """
    # Only this platform needs the package, which belongs to the extra `rocm`.
    from elftools.elf.elffile import ELFFile

    with plugin.open("rb") as file:
        sections: Any = {section.name: section for section in ELFFile(file).iter_sections()}
        libraries = [tag.needed for tag in sections[".dynamic"].iter_tags("DT_NEEDED")]
        # A version has a number, and belongs to one library.
        versions = {
            version["vna_other"]: (library.name, version.name)
            for library, group in sections[".gnu.version_r"].iter_versions()
            for version in group
        }
        numbers = sections[".gnu.version"]
        references = [
            (symbol.name, *versions.get(numbers.get_symbol(at)["ndx"], ("", "")))
            for at, symbol in enumerate(sections[".dynsym"].iter_symbols())
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
        ]
    system = {library for library, version in versions.values() if _SYSTEM.match(version)}
    others = [ctypes.CDLL(library) for library in system]
    symbols: dict[str, list[tuple[str, str]]] = {
        library: [] for library in libraries if library not in system and not _is_loadable(library)
    }
    stems = {library: re.sub(r"^lib|[-.].*", "", library).lower() for library in symbols}
    rest: list[tuple[str, str]] = []
    for name, library, version in references:
        likely = [key for key, stem in stems.items() if stem in name.lower()]
        if library in symbols:
            symbols[library].append((name, version))
        # A function of C++'s own library may also be without a version.
        elif not library and not any(hasattr(other, name) for other in others):
            (symbols[max(likely, key=lambda key: len(stems[key]))] if likely else rest).append((name, ""))
    # RCCL's functions have the names of NCCL's.
    symbols[next((library for library, owned in symbols.items() if not owned), next(iter(symbols)))] += rest
    return {library: tuple(owned) for library, owned in symbols.items()}


def _is_loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
