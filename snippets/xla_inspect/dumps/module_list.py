"""The modules of a set of dumped files, told from the names of the files and the beginnings of some."""

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
    """Return the modules of a set of files, in the order of their numbers.

    Of files that have names as XLA dumps them, those and the beginnings of a few tell; others are read, each as a
    module or several. A file that is part of none is left out of the set, with the reason.

    Raises:
        InspectError: There is none; or a file cannot be read.
    """
    modules = list_dumped(files)
    used = {path for module in modules for path in module.files.values()}
    plain, others = list_plain(files, [name for name in files.names if name not in used])
    if not (modules or plain):
        raise InspectError(explain_none(files, others))
    files.left_out |= others
    return _sort((*modules, *plain))


def list_dumped(files: Files) -> tuple[DumpedModule, ...]:
    """Return the modules of files that have names as XLA dumps them, in the order of their numbers.

    Raises:
        InspectError: A file cannot be read.
    """
    groups = _join_copies(group_files(files.names))
    heads = _read_heads(files, groups)
    modules = (_describe(files, key, own, heads) for key, own in groups.items())
    return _sort(module for module in modules if module.before or module.after or module.between)


def _sort(modules: Iterable[DumpedModule]) -> tuple[DumpedModule, ...]:
    return tuple(sorted(modules, key=lambda module: (module.folder, module.time, module.number or 0, module.part)))


def pick_module(modules: Sequence[DumpedModule], named: str, title: str) -> DumpedModule:
    """Return the module that a name stands for: its name, its number, or both as the files have them.

    Args:
        modules: All that there are.
        named: The name; an empty one stands for the only one.
        title: What the set is called.

    Raises:
        InspectError: There is no such module, or there are several.
    """
    folded = named.strip("/")
    for fits in (
        lambda module: folded == module.key,
        lambda module: folded in {module.name, module.key.rpartition("/")[2]},
        lambda module: module.number is not None and re.fullmatch(rf"(?:module_)?0*{module.number}", folded),
        lambda module: folded == module.name.removeprefix("jit_"),
        lambda _: not folded,
    ):
        found = [module for module in modules if fits(module)]
        if len(found) == 1:
            return found[0]
        if found:
            largest = sorted(found, key=lambda module: -module.bytes)[:_FEW]
            listed = "\n".join(f"  {title}:{module.key}" for module in largest)
            more = f"\n  and {len(found) - len(largest)} more" if len(found) > len(largest) else ""
            what = f"{len(found)} modules" + (f" are called {folded}" if folded else "")
            message = f"{what} in {title}; name one, of which these are the largest:\n{listed}{more}"
            raise InspectError(message)
    keys = {module.key: module.key for module in modules} | {module.name: module.key for module in modules}
    close = list(dict.fromkeys(keys[name] for name in list_nearest(folded, keys, 5, 0.4)))
    near = close or [module.key for module in modules[:_FEW]]
    message = f"there is no module {folded!r} in {title}; there {'are' if len(near) > 1 else 'is'} {', '.join(near)}"
    raise InspectError(message)


def _join_copies(groups: Mapping[_Key, dict[str, str]]) -> dict[_Key, dict[str, str]]:
    """Return modules of which the compiler went on with a copy under another number as one.

    Files without a time, such as those of kernels, are of the module that has one and else the same name.
    """
    joined = {key: dict(own) for key, own in groups.items()}
    timed: dict[tuple[str, int, str], list[_Key]] = defaultdict(list)
    for key in groups:
        if key[1]:
            timed[key[0], key[2], key[3]].append(key)
    for key in [key for key in groups if not key[1]]:
        same = timed[key[0], key[2], key[3]]
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
    """Return the beginnings of the files that tell of a module, in one pass over the set."""
    wanted = []
    for own in groups.values():
        texts = sorted(filter(is_text, own), key=lambda ending: bool(OPTIMIZED.fullmatch(ending)))
        header = next(
            (ending for ending in reversed(texts) if OPTIMIZED.fullmatch(ending) or GIVEN.fullmatch(ending)), ""
        )
        wanted += [own[ending] for ending in own if ending in {header, "thunk_sequence.txt"} or tells(ending)]
    return {path: _decode(data) for path, data in files.read_many(wanted, _HEAD)}


def _decode(data: bytes) -> str:
    if is_gzip(data):
        # It is cut off, as a beginning is.
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, _HEAD)
        except zlib.error:
            return ""
    return data.decode("utf-8", "replace")


def _describe(files: Files, key: _Key, own: Mapping[str, str], heads: Mapping[str, str]) -> DumpedModule:
    folder, time, number, name = key
    mine = {ending: heads[path] for ending, path in own.items() if path in heads}
    header = next((text.partition("\n")[0] for text in mine.values() if _NAME.match(text)), "")
    named = _NAME.match(header)
    target, title = find_target(own, mine)
    devices = count_devices(header)
    sequence = mine.get("thunk_sequence.txt", "")
    objects = sum(bool(_KERNEL.fullmatch(ending)) for ending in own)
    module = DumpedModule(
        name=printable((named[1] if named else "") or name or "unnamed"),
        number=number,
        folder=printable(folder),
        target=add_devices(target, devices, find_grid(mine)),
        title=printable(title),
        devices=devices,
        bytes=sum(map(files.size, {*own.values()})),
        kernels=len(_THUNK.findall(sequence)) if sequence and len(sequence) < _HEAD else objects or None,
        files=own,
        time=time,
        arguments=list_arguments(header),
    )
    stage: StageName = "between passes" if module.between else "before the optimizations"
    return module if module.after else replace(module, stage=stage)
