"""A parser for the names of XLA's dump files, which give a file's module and, by their end, the file's contents."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM = r"(?:txt|pb|pbtxt|hlo\.pb|html|dot|url|textproto)(?:\.gz)?"

FILE = re.compile(r"(?:(?P<time>\d{10,})\.)?module_(?P<number>\d+)(?:\.(?P<rest>.*))?", re.DOTALL)
"""The name of a dumped file or folder: an optional time, the module's number, its name and the rest."""

PASS = re.compile(
    rf"\d{{4,}}\.(?P<pipeline>.+?)\.(?:after_(?P<name>.*?)(?:\.before_.*)?|(?P<before>before_.*))\.{_FORM}", re.DOTALL
)
"""The end of the name of a module that was dumped between passes."""

GIVEN = re.compile(r"before_optimizations\.(?:txt|hlo\.pb)(?:\.gz)?")
"""The end of the name of a file that is dumped only for an input module, not for a module that was split off."""

OPTIMIZED = re.compile(r"(?:.*[._])?after_optimizations\.(?:txt|hlo\.pb)(?:\.gz)?", re.DOTALL)

_BACKEND = r"(?:sm_\d+\.\d+[a-z]*_gpu_|gfx[^.]*_gpu_|[^.\d][^.]*?_)?"
_ENDINGS = re.compile(
    r"(?:^|\.)(?P<ending>(?:cl_\d+\.)?(?:"
    rf"\d{{4,}}\.[^.]+\.(?:after|before)_.*\.{_FORM}"
    rf"|before_optimizations\.{_FORM}"
    rf"|{_BACKEND}(?:before|after)_(?:optimizations|codegen|spmd_partitioner|config_assignment|buffer_assignment)"
    rf"(?:[-_][\w-]+)?\.{_FORM}"
    r"|debug_options(?:\.txt)?|config\.pbtxt|hlo_module_config\.\w+|execution_options\.\w+|target_arguments\.\w+"
    r"|gpu_target_config\.pbtxt|autotune_results\.pbtxt|flagfile|tpu_comp_env\.\w+|basic_compiler_metadata\.\w+"
    r"|transfer_stats\.\w+|thunk_sequence\w*\.txt|thunk_metadata\.\w+|priority_fusion_dump\.\w+"
    r"|metadata\.textproto|obj-file\..*\.o|execution_\d+.*"
    r"))$",
    re.DOTALL,
)
"""Name endings that directly follow the module's name, even if the name has dots."""

_VERSION = re.compile(r"(?:^|\.)cl_\d+$")


def split_name(rest: str) -> tuple[str, str] | None:
    """Return a module's name and the end of the file's name after it, or None if it is unclear where the former ends.

    Args:
        rest: The part of the file name after the module's number.
    """
    match = _ENDINGS.search(rest)
    if match is None:
        return None
    return rest[: match.start()], drop_version(match["ending"])


def strip_front(name: str) -> str:
    """Return a file's name without its module's number and name, and without a TPU compiler's version.

    Args:
        name: The name, without folders.
    """
    match = FILE.fullmatch(name)
    if match is None:
        return name
    rest = match["rest"] or ""
    split = split_name(rest)
    return split[1] if split else drop_version(rest.partition(".")[2] or rest)


def drop_version(ending: str) -> str:
    """Return the end of a file's name without the version (`cl_` and digits) that a TPU's compiler puts in front."""
    return re.sub(r"^cl_\d+\.", "", ending)


def group_files(names: Iterable[str]) -> dict[tuple[str, str, int, str], dict[str, str]]:
    """Return the paths of the files of each module, by the end of the file's name.

    Args:
        names: Paths of files in a set.

    Returns:
        The files by folder, time, number and name of the module. The files of a module are paths in the set by the end
        of the file's name, or by the path below the module's own folder if it has one.
    """
    numbered: dict[tuple[str, str, int], list[tuple[str, str]]] = defaultdict(list)
    folders: dict[tuple[str, str, int], dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for path in names:
        parts = path.split("/")
        at = next((at for at, part in enumerate(parts) if FILE.fullmatch(part)), None)
        match = None if at is None else FILE.fullmatch(parts[at])
        if at is None or match is None:
            continue
        key = ("/".join(parts[:at]), match["time"] or "", int(match["number"]))
        if at + 1 == len(parts):
            numbered[key].append((match["rest"] or "", path))
        else:
            # The TPU's compiler also appends its version to the names of folders.
            own = _VERSION.sub("", match["rest"] or "")
            folders[key][own].append(("/".join(parts[at + 1 :]), path))
    groups: dict[tuple[str, str, int, str], dict[str, str]] = {}
    for key in dict.fromkeys((*numbered, *folders)):
        by_name = _share_out(numbered[key], folders[key])
        groups |= {(*key, name): files for name, files in by_name.items()}
    return groups


def _share_out(
    files: Iterable[tuple[str, str]], folders: dict[str, list[tuple[str, str]]]
) -> dict[str, dict[str, str]]:
    """Return the files with one module number by module name and by the end of the file's name."""
    groups: dict[str, dict[str, str]] = {name: dict(inside) for name, inside in folders.items()}
    unsure: list[tuple[str, str]] = []
    for rest, path in files:
        if split := split_name(rest):
            groups.setdefault(split[0], {})[split[1]] = path
        else:
            unsure.append((rest, path))
    # A module's name may begin with another module's name, so longer names are tried first.
    module_names = sorted(groups, key=len, reverse=True)
    for rest, path in unsure:
        # Kernel names may contain dots too, so a module name that other files have is matched first.
        name = next((name for name in module_names if rest.startswith(f"{name}.") or not name), rest.partition(".")[0])
        ending = rest[len(name) :].removeprefix(".") if name else rest
        groups.setdefault(name, {})[drop_version(ending)] = path
    # Files without a module name, such as a record of passes, belong to every module with the number.
    if "" in groups and len(groups) > 1:
        common = groups.pop("")
        for files_of in groups.values():
            files_of.update({ending: path for ending, path in common.items() if ending not in files_of})
    return groups
