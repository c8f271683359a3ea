"""The modules in a set of dumped files, identified by file names and the first bytes of some files."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.dumps.dump_module import DumpedModule, is_text
from xla_inspect.dumps.entry_arguments import list_arguments
from xla_inspect.dumps.file_names import GIVEN, OPTIMIZED, group_files
from xla_inspect.dumps.files import is_gzip
from xla_inspect.dumps.plain_files import explain_none, list_plain
from xla_inspect.dumps.target_name import add_devices, count_devices, find_grid, find_target, tells
from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xla_inspect.analysis import StageName

from xla_inspect.dumps.files import Files

_HEAD = 64 << 10
_FEW = 8
_NAME = re.compile(r"\s*HloModule\s+([^\s,]+)")
_KERNEL = re.compile(r"obj-file\..*\.o", re.DOTALL)
_THUNK = re.compile(r"^ *\d+: k(?:Custom)?Kernel\b", re.MULTILINE)

type _Key = tuple[str, str, int, str]


def list_modules(files: Files) -> tuple[DumpedModule, ...]:
    """Return the modules in a set of files, in the order of their numbers.

    Files with XLA's dump names are identified by their names and the first bytes of a few of them. Other files are read
    completely, and each may contain several modules. The reason that a file has no module is added to `files.left_out`.

    Raises:
        InspectError: There is no module, or a file cannot be read.
    """
    modules = list_dumped(files)
    assigned = {path for module in modules for path in module.files.values()}
    plain, others = list_plain(files, [name for name in files.names if name not in assigned])
    if not (modules or plain):
        raise InspectError(explain_none(files, others))
    files.left_out |= others
    return _sort((*modules, *plain))


def list_dumped(files: Files) -> tuple[DumpedModule, ...]:
    """Return the modules of files that have XLA's dump names, in the order of their numbers.

    Raises:
        InspectError: A file cannot be read.
    """
    groups = _join_copies(group_files(files.names))
    heads = _read_heads(files, groups)
    modules = (_describe(files, key, own, heads) for key, own in groups.items())
    return _sort(module for module in modules if module.stage != "none" or module.plan)


def _sort(modules: Iterable[DumpedModule]) -> tuple[DumpedModule, ...]:
    return tuple(sorted(modules, key=lambda module: (module.folder, module.time, module.number or 0, module.part)))


def pick_module(modules: Sequence[DumpedModule], text: str, title: str) -> DumpedModule:
    """Return the module that a text selects: by its name, its number, or both as in the file names.

    Args:
        modules: All modules.
        text: The name or number; an empty text selects the only module.
        title: The name of the set.

    Raises:
        InspectError: No module or several modules match.
    """
    folded = text.strip("/")
    # The exact forms come first, so that a short name cannot hide a module with exactly that name.
    for fits in (
        lambda module: folded == module.key,
        lambda module: folded in {module.name, module.key.rpartition("/")[2]},
        lambda module: module.number is not None and re.fullmatch(rf"(?:module_)?0*{module.number}", folded),
        lambda module: folded == module.name.removeprefix("jit_"),
        lambda module: text in module.files.values(),
        lambda _: not folded,
    ):
        matches = [module for module in modules if fits(module)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            # The user's program is usually the largest module, and JAX's helper programs are small.
            largest = sorted(matches, key=lambda module: -module.bytes)[:_FEW]
            listed = "\n".join(f"  {title}:{module.key}" for module in largest)
            more = f"\n  and {len(matches) - len(largest)} more" if len(matches) > len(largest) else ""
            what = f"{len(matches)} modules" + (f" are called {folded}" if folded else "")
            message = f"{what} in {title}; name one of them, the largest first:\n{listed}{more}"
            raise InspectError(message)
    keys = {module.key: module.key for module in modules} | {module.name: module.key for module in modules}
    close = list(dict.fromkeys(keys[name] for name in list_nearest(folded, keys, 5, 0.4)))
    near = close or [module.key for module in modules[:_FEW]]
    message = f"there is no module {folded!r} in {title}; there {'are' if len(near) > 1 else 'is'} {', '.join(near)}"
    raise InspectError(message)


def _join_copies(groups: Mapping[_Key, dict[str, str]]) -> dict[_Key, dict[str, str]]:
    """Return the files by module, merging those of a module that the compiler continued as a copy with another number.

    Files without a time, such as those of kernels, belong to the module with the same name that has a time.
    """
    joined = {key: dict(own) for key, own in groups.items()}
    timed: dict[tuple[str, int, str], list[_Key]] = defaultdict(list)
    for key in groups:
        if key[1]:
            timed[key[0], key[2], key[3]].append(key)
    for key in [key for key in groups if not key[1]]:
        same = timed[key[0], key[2], key[3]]
        # Several processes may have used the same number and name, and then the files cannot be assigned.
        if len(same) == 1:
            joined[same[0]] |= joined.pop(key)
    waiting: dict[tuple[str, str, str], list[_Key]] = defaultdict(list)
    for key in sorted(joined):
        has_before = any(map(GIVEN.fullmatch, joined[key]))
        has_after = any(map(OPTIMIZED.fullmatch, joined[key]))
        same_name = waiting[key[0], key[1], key[3]]
        if has_before and not has_after:
            same_name.append(key)
        elif has_after and not has_before and same_name:
            first = same_name.pop(0)
            joined[first] = {**joined.pop(key), **joined[first]}
    return joined


def _read_heads(files: Files, groups: Mapping[_Key, Mapping[str, str]]) -> dict[str, str]:
    """Return, as text by path, the first bytes of the files that describe modules, in one pass over the set."""
    paths = []
    for own in groups.values():
        texts = sorted(filter(is_text, own), key=lambda ending: bool(OPTIMIZED.fullmatch(ending)))
        header = next(
            (ending for ending in reversed(texts) if OPTIMIZED.fullmatch(ending) or GIVEN.fullmatch(ending)), ""
        )
        paths += [own[ending] for ending in own if ending in {header, "thunk_sequence.txt"} or tells(ending)]
    return {path: _decode(data) for path, data in files.read_many(paths, _HEAD)}


def _decode(data: bytes) -> str:
    if is_gzip(data):
        # The data is the start of a file: a decompressor object accepts truncated data, and `gzip` does not.
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, _HEAD)
        except zlib.error:
            return ""
    return data.decode("utf-8", "replace")


def _describe(files: Files, key: _Key, own: Mapping[str, str], heads: Mapping[str, str]) -> DumpedModule:
    folder, time, number, name = key
    mine = {ending: heads[path] for ending, path in own.items() if path in heads}
    header = next((text.partition("\n")[0] for text in mine.values() if _NAME.match(text)), "")
    match = _NAME.match(header)
    target, title = find_target(own, mine)
    devices = count_devices(header)
    sequence = mine.get("thunk_sequence.txt", "")
    objects = sum(bool(_KERNEL.fullmatch(ending)) for ending in own)
    module = DumpedModule(
        name=printable((match[1] if match else "") or name or "unnamed"),
        number=number,
        folder=printable(folder),
        target=add_devices(target, devices, find_grid(mine)),
        title=printable(title),
        devices=devices,
        bytes=sum(map(files.size, {*own.values()})),
        # A sequence as long as the limit is truncated, so its kernels cannot be counted.
        kernels=len(_THUNK.findall(sequence)) if sequence and len(sequence) < _HEAD else objects or None,
        files=own,
        time=time,
        arguments=list_arguments(header),
    )
    stage: StageName = "between passes" if module.between else "before the optimizations" if module.before else "none"
    return module if module.after else replace(module, stage=stage)
