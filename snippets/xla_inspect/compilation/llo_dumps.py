"""A TPU's programs below HLO, from a second compile in a process in which libtpu dumps them to a folder."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from xla_inspect import jax_private
from xla_inspect.captured import PROGRAM, LowLevel, LowStage, read_low_level, write_low_level
from xla_inspect.compilation import capture_cache
from xla_inspect.compilation.dump_compile import LOCK, Folder
from xla_inspect.compilation.logged_compile import LoggedProcess
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.jax_private import CompileCall
    from xla_inspect.targets import Target

LIMIT = 1 << 30
"""The size limit in bytes of one compile's dumps; above it, only the finished programs are dumped."""

INTERVAL = 0.25
"""Seconds between two checks of the dumps' size."""

QUIET, LONGEST = 0.1, 1.0
"""Seconds without a change after which files count as written: if their numbers have no gap, and otherwise."""

ALL = "--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true"
"""The flags that make libtpu dump the low-level program after each step: about 100 files per kernel."""

FINISHED = (
    f"{ALL} --xla_jf_dump_llo_pass_label_regex=^(?:final_bundles|critical-path|deduplication-map"
    "|final_hlo-static-per-bundle-utilization|packed-bundles-post-ra)$"
)
"""The flags that make libtpu dump only the finished programs and reports on them: a thirtieth of the files."""

# The file name begins with the clock's time, and the kernel's name may contain numbers too.
NAME = re.compile(r"(?P<time>\d+)-(?P<kernel>.+)-\d+-(?P<stage>[^-].*)\.txt")
NUMBERED = re.compile(r"(?P<kernel>\d+-.+)-(?P<number>\d+)-[^-].*\.[a-z]+$")
BUNDLES, UTILIZATION, PATH = "final_bundles", "final_hlo-static-per-bundle-utilization", "critical-path"
ANALYSIS = "schedule-analysis_"
SHARED, COUNTS = "deduplication-map", "fingerprints"
# These files are reports about the program, not forms of it.
REPORT = re.compile(
    r"(?:all-)?fingerprints|critical-path|schedule-analysis_.*|.*utilization|hlo-.*|deduplication-map|trace-markers"
    r"|overlay-graph|region-expansion.*|heap_sizes|memory-space-assignment-.*|register-pressure|assembly.*|static_gap_analysis.*"
)
TOTAL = re.compile(r"total scheduled bundles:\s*(\d+)")
COUNT = re.compile(r"^(?P<hash>\S+?):i=(?P<instructions>[0-9a-f]+):\S* (?P<stage>\S+)$", re.MULTILINE)
KEY = re.compile(r"^key:(.*)\nordinal:.*\nequivalent_hlos.*\n((?:  .*\n?)*)", re.MULTILINE)
INSTRUCTION, BUNDLE = re.compile(r"^ *%", re.MULTILINE), re.compile(r"^ *(?:0x[0-9a-f]+|0) .*?: ", re.MULTILINE)


@contextmanager
def dumped(
    lowered: Lowered, target: Target, options: Mapping[str, str | int | bool]
) -> Iterator[Future[tuple[LowLevel, ...]]]:
    """Compile a TPU program again in a separate process during the `with` block, unless the result is cached.

    The value of the context is a future of the kernels' programs below HLO.

    Args:
        lowered: The program.
        target: The TPU; no other target has programs below HLO.
        options: XLA's options by name.
    """
    call = jax_private.describe_compile(lowered.place(target), options)
    content = {"low level of": capture_cache.make_key(lowered, target, options), "limit": LIMIT}
    with ThreadPoolExecutor(1) as pool:

        def write() -> str:
            return json.dumps(write_low_level(collect_low_level(call, target.name)))

        yield pool.submit(lambda: read_low_level(json.loads(capture_cache.recall_text(content, write))))


def collect_low_level(call: CompileCall, target: str) -> tuple[LowLevel, ...]:
    """Compile in a separate process, and return the kernels below HLO, with intermediate forms unless too large.

    Args:
        call: The serialized compile request.
        target: The short name of the target.

    Raises:
        InspectError: The compiler crashed, or even the finished programs exceed the size limit.
    """
    try:
        return _process(ALL).compile(call, target)
    # The steps of large programs exceed the limit, so only the finished programs are dumped then.
    except TooLargeError:
        return _process(FINISHED).compile(call, target)


class TooLargeError(InspectError):
    """The error for a compile whose dumps exceed the size limit."""


class DumpingProcess:
    """A process in which libtpu dumps low-level programs to a private folder, which is emptied after each compile."""

    def __init__(self, flags: str, limit: int = LIMIT) -> None:
        """Store the flags, which contain `{folder}`; the process starts with the first compile.

        Args:
            flags: libtpu flags, in addition to those in this process's environment.
            limit: The size in bytes that the dumps of one compile may have.
        """
        self._flags, self._limit = flags, limit
        self._lock = threading.Lock()
        self._folder: Folder | None = None
        self._process: LoggedProcess | None = None

    def compile(self, call: CompileCall, target: str) -> tuple[LowLevel, ...]:
        """Compile in the process, and return the dumped kernels, without data that depends on clock or machine.

        Raises:
            TooLargeError: The dumps exceeded the limit, and the process was ended.
            InspectError: As in `collect_low_level`.
        """
        with self._lock:
            folder, process = self._start()
            try:
                with _held(folder, process, self._limit) as outgrown:
                    try:
                        process.compile(call, target)
                    except InspectError as error:
                        if not outgrown.is_set():
                            raise
                        message = f"target {target!r}: what libtpu writes of its low-level programs is too large"
                        raise TooLargeError(message) from error
                wait_for_files(folder)
                return read_kernels(folder)
            finally:
                _empty(folder)

    def _start(self) -> tuple[Path, LoggedProcess]:
        if self._folder is None or self._process is None:
            self._folder = Folder()
            flags = f"{os.environ.get('LIBTPU_INIT_ARGS', '')} {self._flags.format(folder=self._folder.name)}"
            variables = {"LIBTPU_INIT_ARGS": flags.strip(), "TPU_LOG_DIR": "disabled"}
            self._process = LoggedProcess(variables, work="wrote its programs below HLO")
        return Path(self._folder.name), self._process


@cache
def _process(flags: str) -> DumpingProcess:
    return DumpingProcess(flags)


@contextmanager
def _held(folder: Path, process: LoggedProcess, limit: int) -> Iterator[threading.Event]:
    """Yield an event; in the block, set it and end the process as soon as a folder's files exceed `limit` bytes."""
    outgrown, finish = threading.Event(), threading.Event()

    def watch() -> None:
        while not finish.wait(INTERVAL):
            if measure_folder(folder) > limit:
                outgrown.set()
                process.end()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield outgrown
    finally:
        finish.set()
        thread.join()


def measure_folder(folder: Path) -> int:
    """Return the total size in bytes of the files in a folder."""
    total = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                total += entry.stat().st_size
    return total


def wait_for_files(folder: Path) -> None:
    """Wait until libtpu has written all files of a compile, which takes a moment longer than the compile itself.

    libtpu numbers each kernel's files when it opens them, and it may finish some of the first ones last.
    """
    before: dict[str, int] = {}
    last_change = perf_counter()
    while True:
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
        if sizes != before:
            before, last_change = sizes, perf_counter()
        elif perf_counter() - last_change >= (QUIET if _is_whole(sizes) else LONGEST):
            return
        sleep(QUIET / 4)


def _is_whole(names: Iterable[str]) -> bool:
    """Return whether the numbers in each kernel's file names are consecutive from 0."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for name in names:
        if match := NUMBERED.match(name):
            numbers[match["kernel"]].add(int(match["number"]))
    return all(present == set(range(len(present))) for present in numbers.values())


def _empty(folder: Path) -> None:
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name != LOCK:
                path.unlink(missing_ok=True)


def read_kernels(folder: Path) -> tuple[LowLevel, ...]:
    """Return the kernels of the one program whose low-level programs are in a folder, and the program around them.

    If the compiler started again, for example to use less memory, only its last attempt counts.
    """
    kernels: dict[tuple[str, int], list[tuple[str, Path]]] = defaultdict(list)
    for path in sorted(folder.glob("*.txt"), key=_order):
        if match := NAME.fullmatch(path.name):
            kernels[match["kernel"], int(match["time"])].append((match["stage"], path))
    finished = {key: files for key, files in kernels.items() if any(stage == BUNDLES for stage, _ in files)}
    start = max((time for kernel, time in finished if kernel == PROGRAM), default=None)
    if start is None:
        return ()
    last = {kernel: files for (kernel, time), files in sorted(finished.items()) if time >= start}
    shared = _read_shared(_read(last[PROGRAM], SHARED))
    names = sorted(last, key=lambda kernel: (kernel == PROGRAM or kernel.startswith("<"), kernel))
    return tuple(
        LowLevel(
            kernel=kernel,
            instructions=shared.get(kernel, () if kernel == PROGRAM or kernel.startswith("<") else (kernel,)),
            bundles=_read(last[kernel], BUNDLES),
            utilization=_read(last[kernel], UTILIZATION),
            schedule=_read(last[kernel], ANALYSIS + BUNDLES),
            critical_path=_read(last[kernel], PATH),
            stages=tuple(_list_stages(last[kernel])),
        )
        for kernel in names
    )


def _order(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name)[:1] + re.findall(r"-(\d+)-", path.name)[-1:])


def _read(files: Iterable[tuple[str, Path]], stage_name: str) -> str:
    return next((path.read_text(encoding="utf-8") for stage, path in files if stage == stage_name), "")


def _list_stages(files: Sequence[tuple[str, Path]]) -> Iterator[LowStage]:
    """Yield the size of a kernel's program after each compiler step, in order: instructions or bundles, if known."""
    counts = defaultdict[str, list[tuple[int, bool | None]]](list)
    before = ""
    for match in COUNT.finditer(_read(files, COUNTS)):
        is_changed = match["hash"] != before if before else None
        counts[match["stage"]].append((int(match["instructions"], 16), is_changed))
        before = match["hash"]
    packed = {
        stage.removeprefix(ANALYSIS): int(total[1])
        for stage, path in files
        if stage.startswith(ANALYSIS) and (total := TOTAL.search(path.read_text(encoding="utf-8")))
    }
    occurrences, previous = Counter[str](), ""
    for stage, path in files:
        if REPORT.fullmatch(stage):
            continue
        entries = counts[stage][occurrences[stage] :]
        occurrences[stage] += 1
        instructions, is_changed = entries[0] if entries else (None, None)
        bundles = packed.get(stage)
        if instructions is None and bundles is None:
            text = path.read_text(encoding="utf-8")
            bundles = len(BUNDLE.findall(text)) or None
            if bundles is None:
                instructions = len(INSTRUCTION.findall(text))
                is_changed = text != previous if previous else None
                previous = text
        yield LowStage(stage, instructions, bundles, is_changed)


def _read_shared(text: str) -> dict[str, tuple[str, ...]]:
    """Return the names of the HLO instructions that share each kernel, by kernel, from libtpu's text about them."""
    return {match[1]: tuple(line.strip() for line in match[2].splitlines()) for match in KEY.finditer(text) if match[2]}
