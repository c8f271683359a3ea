"""What the names of the files that XLA dumps say: which module a file is of, and what of it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM = r"(?:txt|pb|pbtxt|hlo\.pb|html|dot|url|textproto)(?:\.gz)?"

FILE = re.compile(r"(?:(?P<time>\d{10,})\.)?module_(?P<number>\d+)(?:\.(?P<rest>.*))?", re.DOTALL)
"""The name of a dumped file or folder: a time where that was asked for, the module's number, its name and the rest."""

PASS = re.compile(
    rf"\d{{4,}}\.(?P<pipeline>.+?)\.(?:after_(?P<name>.*?)(?:\.before_.*)?|(?P<before>before_.*))\.{_FORM}", re.DOTALL
)
"""The end of the name of a module that was dumped between passes."""

GIVEN = re.compile(r"before_optimizations\.(?:txt|hlo\.pb)(?:\.gz)?")
"""What the compiler dumps of a module that it was given, and not of one that it took out of another."""

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
"""The ends of names that stand right behind the module's name, whatever dots that has."""

_VERSION = re.compile(r"(?:^|\.)cl_\d+$")


def split_name(rest: str) -> tuple[str, str] | None:
    """Return a module's name and what a file is of it, or None where the file's name does not tell where one ends.

    Args:
        rest: What stands behind the module's number.
    """
    match = _ENDINGS.search(rest)
    if match is None:
        return None
    return rest[: match.start()], drop_version(match["ending"])


def strip_front(name: str) -> str:
    """Return a file's name without the number and the name of its module, and a TPU compiler's version.

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
    """Return what a file is of a module without the version that a TPU's compiler writes in front of it."""
    return re.sub(r"^cl_\d+\.", "", ending)


def group_files(names: Iterable[str]) -> dict[tuple[str, str, int, str], dict[str, str]]:
    """Return the files of each module by what they are of it.

    Args:
        names: Paths of files in a set.

    Returns:
        Folder, time, number and name of the module, as the names of its files have them -> the end of a file's name,
        which for one in a folder of the module's own is the path there -> the path.
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
            own = _VERSION.sub("", match["rest"] or "")
            folders[key][own].append(("/".join(parts[at + 1 :]), path))
    groups: dict[tuple[str, str, int, str], dict[str, str]] = {}
    for key in dict.fromkeys((*numbered, *folders)):
        found = _share_out(numbered[key], folders[key])
        groups |= {(*key, name): files for name, files in found.items()}
    return groups


def _share_out(
    files: Iterable[tuple[str, str]], folders: dict[str, list[tuple[str, str]]]
) -> dict[str, dict[str, str]]:
    """Return the files of one number by the name of the module, of which several processes may have dumped one each."""
    groups: dict[str, dict[str, str]] = {name: dict(inside) for name, inside in folders.items()}
    unsure: list[tuple[str, str]] = []
    for rest, path in files:
        if split := split_name(rest):
            groups.setdefault(split[0], {})[split[1]] = path
        else:
            unsure.append((rest, path))
    known = sorted(groups, key=len, reverse=True)
    for rest, path in unsure:
        # A kernel's own name may have dots too: that of a module which other files name stands in front of it.
        name = next((name for name in known if rest.startswith(f"{name}.") or not name), rest.partition(".")[0])
        ending = rest[len(name) :].removeprefix(".") if name else rest
        groups.setdefault(name, {})[drop_version(ending)] = path
    # What belongs to all modules of a number, or to the one that there is, such as a record of passes.
    if "" in groups and len(groups) > 1:
        common = groups.pop("")
        for files_of in groups.values():
            files_of.update({ending: path for ending, path in common.items() if ending not in files_of})
    return groups
