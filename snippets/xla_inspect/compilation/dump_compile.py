"""Compilation of a lowered program with dumps, and the private folders that the compiler writes them to."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import dumps, store
from xla_inspect.errors import InspectError
from xla_inspect.targets import TILING_MODEL, find_entry, knows_gpu_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax

    from xla_inspect.targets import Target

PINNED: Mapping[str, Mapping[str, str | int | bool]] = {
    "cpu": {
        # The pass that splits work over cores writes this machine's core count into the module.
        "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
        "xla_cpu_prefer_vector_width": 256,
    },
    # Autotuning is off because there is no device on which to time the candidates.
    "gpu": {"xla_gpu_autotune_level": 0},
    "tpu": {},
}
"""The fixed options of each kind of compiler, which make the result independent of the machine.

The CPU's instruction set is no such option: the compiler takes it from the environment (`xla_inspect.targets`).
"""

# Emitters other than these dump megabytes a kernel (`triton-to-llvm`), and on the CPU the MLIR log is written by two
# threads at once and can crash the process.
EMITTERS = {"cpu": "^llvm$", "gpu": "^(llvm|ptx|triton-fusion)$", "tpu": "^none$"}

PREFIX, LOCK = "xla_inspect_dumps_", "lock"
"""The prefix of a dump folder's name, and the name of the locked file in it."""

MEMORY = Path("/dev/shm")  # noqa: S108 - `tempfile` makes a private folder inside
"""The memory-backed folder in which dump folders are made if more than 2 GiB are free; `place_dumps` replaces it."""

ROOM, ROOM_OF_FILES = 2 << 30, 1 << 20

_READ = (".txt", ".ll", ".ptx", ".o", "metadata.textproto")


def compile_with_dumps(  # noqa: PLR0913 - what is compiled, and how much of it is dumped
    stage: jax.stages.Lowered,
    target: Target,
    options: Mapping[str, str | int | bool],
    folder: Path,
    *,
    passes: bool = True,
    code: bool = True,
) -> jax.stages.Compiled:
    """Compile for a target with dumps into a folder, and return the executable.

    The modules between passes are dumped only if `passes` is true, the generated code only if `code` is.

    Raises:
        InspectError: The compiler does not know an option, or rejects its value.
        RuntimeError: The compiler failed for another reason.
    """
    dumping = list_options(target.kind, folder, passes=passes, code=code)
    while True:
        try:
            return stage.compile({**options, **{name: dumping[name] for name in dumping if name not in _UNKNOWN}})
        except RuntimeError as error:
            # The compilers word the error for an unknown option differently.
            match = re.search(r"No such compile option: '([^']*)'|option '?(\w+)'?.*not.*(?:valid|pars)", str(error))
            name = match and (match[1] or match[2])
            if not name:
                raise
            if name in dumping and name not in _UNKNOWN:
                # An older compiler may not know this dump option, and it writes the dumps without it.
                _UNKNOWN.add(name)
                continue
            message = (
                f"target {target.name!r}: the compiler refuses an option ({error}); see xla.proto of the XLA it is of"
            )
            raise InspectError(message) from error


_UNKNOWN: set[str] = set()
"""Dump options that the compilers of this process do not know."""


def pin_options(target: Target) -> dict[str, str | int | bool]:
    """Return the options that make a target's compile independent of this machine.

    `TILING_MODEL` is one of them only for a target with such a model, and if the installed plugin knows the option;
    without it, the compiler takes the first tile of its list.
    """
    models = find_entry(target.base).has_tiling_model and knows_gpu_option(TILING_MODEL, target.platform)
    return {**PINNED[target.kind], **({TILING_MODEL: True} if models else {})}


def explain_no_room() -> str:
    """Return the reason why temporary files cannot be written, with a remedy, or an empty string if they can."""
    folder = os.environ.get("TMPDIR") or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # A full disk may still accept an empty file, so the test writes some data.
            file.write(bytes(ROOM_OF_FILES))
    except OSError as error:
        return f"none can be written to {folder} ({error.strerror}); make room, or set TMPDIR to another folder"
    return ""


def list_options(kind: str, folder: Path, *, passes: bool = True, code: bool = True) -> dict[str, Any]:
    """Return the options that make the compiler for a kind of target dump all that a capture stores into a folder.

    Args:
        kind: `cpu`, `gpu` or `tpu`.
        folder: The folder.
        passes: Whether to dump the module between passes too, which for a large program takes most of the time and the
            space of the dumps.
        code: Whether to dump the generated code too.
    """
    return {
        "xla_dump_to": str(folder),
        "xla_dump_hlo_as_text": True,
        **({"xla_dump_hlo_pass_re": ".*"} if passes else {}),
        "xla_dump_hlo_module_re": ".*",
        # The compact form writes tuple elements inline at their uses, so it would hide these instructions.
        "xla_dump_compact_gte": False,
        "xla_dump_module_metadata": True,
        "xla_dump_emitter_re": EMITTERS[kind if code else "tpu"],
    }


class Folder(tempfile.TemporaryDirectory[str]):
    """A private folder for dumps, removed when its `with` statement ends, or else by a later process.

    A file in it is locked for as long as its process lives: the system drops the lock of one that was killed.
    """

    def __init__(self) -> None:
        """Create and lock the folder, after removing the folders of dead processes once per process."""
        sweep_once()
        super().__init__(prefix=PREFIX, dir=find_memory(), ignore_cleanup_errors=True)
        # The file is locked before it gets its final name, so no process takes the folder for that of a dead process.
        making = Path(self.name) / "locking"
        self._lock = making.open("w", encoding="utf-8")
        with suppress(OSError):
            store.lock(self._lock)
            making.rename(Path(self.name) / LOCK)

    def cleanup(self) -> None:
        """Remove the folder."""
        self._lock.close()
        # The folder is flat and has hundreds of files, so unlinking them one by one is faster than a recursive walk.
        with suppress(OSError), os.scandir(self.name) as entries:
            for entry in entries:
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - as above
        super().cleanup()


@cache
def sweep_once() -> None:
    """Remove the dump folders of ended processes, on the first call in this process only."""
    sweep_dumps()


def sweep_dumps() -> None:
    """Remove the dump folders of ended processes, in memory (`MEMORY`) and in the system's temporary folder."""
    # Dumps are on the disk if memory has no room for them, so both places may have leftovers.
    for parent in {MEMORY, Path(tempfile.gettempdir())}:
        with suppress(OSError):
            for folder in parent.glob(f"{PREFIX}*"):
                if is_abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def is_abandoned(folder: Path) -> bool:
    """Return whether the process that created a folder of dumps has ended; False if the folder has no lock file."""
    with suppress(OSError), (folder / LOCK).open(encoding="utf-8") as file:
        # The system drops the lock of a dead process, so only then can this process acquire it.
        return store.lock(file)
    # A folder without a lock file belongs to a process that is just creating it.
    return False


def place_dumps(folder: Path) -> None:
    """Set the folder in which this process makes further dump folders whenever more than 2 GiB are free in it."""
    global MEMORY  # noqa: PLW0603 - of the process
    MEMORY = folder


def find_memory() -> Path | None:
    """Return the folder `MEMORY` if it is writable and more than 2 GiB are free in it, or None."""
    try:
        return MEMORY if shutil.disk_usage(MEMORY).free > ROOM and os.access(MEMORY, os.W_OK) else None
    except OSError:
        return None


def read_dump_folder(folder: Path) -> tuple[dumps.ModuleTexts, dict[str, float]]:
    """Return the texts of the program's module in a dump folder, and the modification times of its files.

    Other modules may share the folder: JAX's small helper programs, and parts of the program for another core, such as
    a scatter that the TPU7x compiler moves to the SparseCore. The module with the most files is the program's; without
    any module, both results are empty. The times are by the system clock, keyed by the end of the file's name.
    """
    files = dumps.Files.from_folder(folder)
    # The compiler dumps its input module before the optimizations, but not the modules that it splits off later.
    programs = [module for module in dumps.list_dumped(files) if module.before]
    if not programs:
        return dumps.ModuleTexts(), {}
    program = max(programs, key=lambda module: len(module.files))
    times = {ending: (folder / path).stat().st_mtime for ending, path in program.files.items()}
    return dumps.read_texts(files, program, lambda ending: ending.endswith(_READ)), times
