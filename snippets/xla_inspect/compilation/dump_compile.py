"""Compile a lowered program, and find what the compiler leaves in its dump folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import store
from xla_inspect.dumps import Files, ModuleTexts, list_dumped, read_texts
from xla_inspect.errors import InspectError
from xla_inspect.targets import TILING_MODEL, find_entry, knows_gpu_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax

    from xla_inspect.targets import Target

PINNED: Mapping[str, Mapping[str, str | int | bool]] = {
    "cpu": {
        # The pass that splits work over cores writes the core count into the module.
        "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
        "xla_cpu_prefer_vector_width": 256,
    },
    # There is no device to time candidates on.
    "gpu": {"xla_gpu_autotune_level": 0},
    "tpu": {},
}
"""What each kind of compiler is told, so that the result does not depend on the machine.

The CPU's instruction set is no such option: the compiler takes it from the environment (`xla_inspect.targets`).
"""

# Emitters other than these dump megabytes a kernel (`triton-to-llvm`), and on the CPU the MLIR log is written by two
# threads at once and can crash the process.
EMITTERS = {"cpu": "^llvm$", "gpu": "^(llvm|ptx|triton-fusion)$", "tpu": "^none$"}

PREFIX, LOCK = "xla_inspect_dumps_", "lock"
"""What the name of a folder of dumps starts with, and the file in it that is locked."""

MEMORY = Path("/dev/shm")  # noqa: S108 - `tempfile` makes a private folder inside
"""The system's folder in memory, where dumps go if there is room for them."""

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
    """Compile for a target with its dumps on, into a folder; those between passes only where they are wanted.

    Raises:
        InspectError: The compiler does not know an option, or refuses its value.
    """
    wanted = list_options(target.kind, folder, passes=passes, code=code)
    while True:
        try:
            return stage.compile({**options, **{name: wanted[name] for name in wanted if name not in _UNKNOWN}})
        except RuntimeError as error:
            match = re.search(r"No such compile option: '([^']*)'|option '?(\w+)'?.*not.*(?:valid|pars)", str(error))
            name = match and (match[1] or match[2])
            if not name:
                raise
            if name in wanted and name not in _UNKNOWN:
                # An older compiler than the one that this is made with: it dumps as well without.
                _UNKNOWN.add(name)
                continue
            message = (
                f"target {target.name!r}: the compiler refuses an option ({error}); see xla.proto of the XLA it is of"
            )
            raise InspectError(message) from error


_UNKNOWN: set[str] = set()
"""Options of dumping that the compilers of this process do not know."""


def pin_options(target: Target) -> dict[str, str | int | bool]:
    """Return what the compiler for a target is told so that the result does not depend on the machine.

    A plugin that lacks the option `TILING_MODEL` gets none, and takes the first tile of its list.
    """
    models = find_entry(target.base).has_tiling_model and knows_gpu_option(TILING_MODEL)
    return {**PINNED[target.kind], **({TILING_MODEL: True} if models else {})}


def explain_no_room() -> str:
    """Return why compilers cannot write their temporary files, and what to do, or an empty string where they can."""
    folder = os.environ.get("TMPDIR") or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM_OF_FILES))
    except OSError as error:
        return f"none can be written to {folder} ({error.strerror}); make room, or set TMPDIR to another folder"
    return ""


def list_options(kind: str, folder: Path, *, passes: bool = True, code: bool = True) -> dict[str, Any]:
    """Return the options by which the compiler for a kind of target dumps into a folder all that a capture holds.

    Args:
        kind: `cpu`, `gpu` or `tpu`.
        folder: The folder.
        passes: Whether that is the module between passes too, which for a large program takes most of the time that
            dumps take, and of the room.
        code: Whether that is the generated code too.
    """
    return {
        "xla_dump_to": str(folder),
        "xla_dump_hlo_as_text": True,
        **({"xla_dump_hlo_pass_re": ".*"} if passes else {}),
        "xla_dump_hlo_module_re": ".*",
        "xla_dump_compact_gte": False,
        "xla_dump_module_metadata": True,
        "xla_dump_emitter_re": EMITTERS[kind if code else "tpu"],
    }


class Folder(tempfile.TemporaryDirectory[str]):
    """A private folder for dumps, removed when its `with` statement ends, and else by a later process.

    A file in it is locked for as long as its process lives: the system drops the lock of one that was killed.
    """

    def __init__(self) -> None:
        """Make and lock the folder, and remove those of dead processes where this is the first of this one."""
        sweep_once()
        super().__init__(prefix=PREFIX, dir=find_memory(), ignore_cleanup_errors=True)
        # Under its own name the file is locked from the first: nobody takes it for one of a dead process.
        making = Path(self.name) / "locking"
        self._lock = making.open("w", encoding="utf-8")
        with suppress(OSError):
            store.lock(self._lock)
            making.rename(Path(self.name) / LOCK)

    def cleanup(self) -> None:
        """Remove the folder."""
        self._lock.close()
        # Hundreds of files in one folder: one by one is quicker than a walk that expects anything.
        with suppress(OSError), os.scandir(self.name) as entries:
            for entry in entries:
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - as above
        super().cleanup()


@cache
def sweep_once() -> None:
    """Remove the dumps that dead processes left, the first time that this one asks."""
    sweep_dumps()


def sweep_dumps() -> None:
    """Remove the dumps of processes that were killed: from memory, where they take room for ever, and from the disk."""
    for parent in {MEMORY, Path(tempfile.gettempdir())}:
        with suppress(OSError):
            for folder in parent.glob(f"{PREFIX}*"):
                if is_abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def is_abandoned(folder: Path) -> bool:
    """Return whether the process that made a folder of dumps is dead."""
    with suppress(OSError), (folder / LOCK).open(encoding="utf-8") as file:
        return store.lock(file)
    return False


def place_dumps(folder: Path) -> None:
    """Let all further dumps of this process lie in a folder."""
    global MEMORY  # noqa: PLW0603 - of the process
    MEMORY = folder


def find_memory() -> Path | None:
    """Return a folder in memory with room for any compile's dumps, or None: a disk takes longer for so many files."""
    try:
        return MEMORY if shutil.disk_usage(MEMORY).free > ROOM and os.access(MEMORY, os.W_OK) else None
    except OSError:
        return None


def read_dump_folder(folder: Path) -> tuple[ModuleTexts, dict[str, float]]:
    """Return the texts of the one program module in a folder, and when each of its files was written.

    Others may share the folder: small ones of JAX, and what a compiler takes out for another core, as that of TPU7x
    does with a scatter that it gives to the SparseCore. The times are those of the system's clock, by what a file is of
    the module.
    """
    files = Files.from_folder(folder)
    programs = [module for module in list_dumped(files) if module.before]
    if not programs:
        return ModuleTexts(), {}
    program = max(programs, key=lambda module: len(module.files))
    written = {ending: (folder / path).stat().st_mtime for ending, path in program.files.items()}
    return read_texts(files, program, lambda ending: ending.endswith(_READ)), written
