"""The compilers' verbose log as events: a message, the XLA file that logged it, and the pass that was running."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

PASSES = "hlo_pass_pipeline"
"""The XLA file that logs the start and end of each pass."""

_LINE = re.compile(
    r"[IWEF]\d{4} [\d:.]+ +(?P<thread>\d+) (?P<source>[\w-]+)\.(?:cc|h|cpp):(?P<line>\d+)\] (?P<text>.*)"
)
_PIPELINE = re.compile(r"Running HLO pass pipeline on module (?P<module>\S+): (?P<name>.*)")
_BEGIN = re.compile(r"  HLO pass (?P<name>.*)")
_END = re.compile(r"HLO pass: (?P<name>.*) time: ")

# These parts depend on the machine and the moment, or explain no decision: times, memory addresses, folders, and
# the source locations of instructions.
_TIMED = re.compile(r"\btime: [\d.]+ .?s\b")
_NOISE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
    (re.compile(r'(?<![\w"./])/(?:[\w.+@-]+/)+'), ""),
    (re.compile(r", metadata=\{[^{}]*\}"), ""),
    # Module numbers count all modules that the process has compiled, so they differ between runs.
    (re.compile(r"(?<=, module )(\S+)\(\d+\)"), r"\1"),
    (re.compile(r"\s*=== Source Location Trace: ===(?:\s*\n\S+:\d+)*\s*"), " "),
)
# Protocol buffers print a mark and spacing that vary by process on purpose, so that nobody relies on them.
_PROTO = re.compile(r"\bgo(?:o\.gle)?/debug\w+\s*")
_CONFIG = ", backend_config="
# A dump of the whole state of a module or pass begins so, and each of its many lines is a message. libtpu truncates
# its own dumps at a length that includes data of a single run.
_STATES = ("HloModule ", "module changed HloModule ", "CopyRemover:", "LayoutConstraints for computation ")

# Several threads log from these files at once, or the files visit instructions in the order of their memory
# addresses. The helper threads and the order of messages therefore differ from run to run.
_UNORDERED = frozenset(
    {
        "convolution_emitter",
        "fusion_emitter",
        "llo_schedulers",
        "mlir_kernel_emitter",
        "support",
        "thunk_emitter",
        "tpu_layout_assignment",
    }
)

# Each attempt of libtpu's fusion begins so. It visits the users of a producer in the order of their memory addresses.
_ATTEMPT, _MADE = "Pre-considering", "created new fusion"


_PLACE = re.compile(rb"[IWEF]\d{4} [\d:.]+ +\d+ (?P<place>[\w.-]+:\d+)\] (?P<text>.*)")
_STATES_WRITTEN = tuple(state.encode() for state in _STATES)


def drop_states(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a log's lines, but of each dump of a module's or pass's whole state only the first line."""
    places: set[bytes] = set()
    is_state = False
    for line in lines:
        if head := _PLACE.match(line):
            begins = head["text"].startswith(_STATES_WRITTEN)
            # All lines of a dumped state come from one line of XLA's code, the one that its first line names.
            is_state = head["place"] in places and not begins
            if begins:
                places.add(head["place"])
        if not is_state:
            yield line


@dataclass
class _Step:
    """A running pass (`run` is its number), or a thread outside any pass (-1), with the last pipeline started in it.

    `pipeline` contains the pass, and `inner` is started by it. A pipeline logs its start but not its end.
    """

    run: int = -1
    pipeline: str = ""
    name: str = ""
    module: str = ""
    inner: str = ""
    inner_module: str = ""


def read_log(log: str, sources: frozenset[str]) -> tuple[LogEvent, ...]:
    """Return the events of a log, in order, without data that depends on the machine that wrote it.

    Messages from passes come first. Next come messages from files that log in no fixed order, sorted by run; another
    thread's messages follow if their own thread runs no pass. Last come messages outside any pass, file by file: in
    log order if one thread logged all of the file's messages, and sorted otherwise. Lines that print the whole state of
    a module or a pass are dropped because they give no reasons, and captures already store the modules.

    Args:
        log: The compiler's output.
        sources: The XLA source files whose messages are wanted, without their suffix.
    """
    ordered: list[LogEvent] = []
    others: list[LogEvent] = []
    threads: dict[str, list[_Step]] = {}
    running: list[_Step] = []
    # Two invented threads make each of these files count as one that several threads log from.
    speakers: dict[str, set[str]] = {source: {"one", "another"} for source in _UNORDERED}
    runs = 0
    for thread, source, line, text in _split(log):
        steps = threads.setdefault(thread, [_Step()])
        if source != PASSES:
            if source in sources and not _TIMED.search(text):
                # Helper threads run no pass of their own, so their messages belong to the pass that started last.
                at = running[-1] if source in _UNORDERED and running else steps[-1]
                event = LogEvent(at.run, at.pipeline, at.name, at.module, source, line, _clean(text))
                is_ordered = at.run >= 0 and source not in _UNORDERED
                (ordered if is_ordered else others).append(event)
                if not is_ordered:
                    speakers.setdefault(source, set()).add(thread)
        elif match := _PIPELINE.match(text):
            steps[-1].inner, steps[-1].inner_module = match["name"], match["module"]
        elif match := _BEGIN.match(text):
            steps.append(_Step(runs, steps[-1].inner, match["name"], steps[-1].inner_module))
            running.append(steps[-1])
            runs += 1
        elif (match := _END.match(text)) and any(step.name == match["name"] for step in steps[1:]):
            # A pass can be nested in one with the same name, and then the inner pass ends first.
            ended = len(steps) - 1 - [step.name for step in reversed(steps)].index(match["name"])
            running = [step for step in running if step not in steps[ended:]]
            # Inner passes whose end is missing in the log end together with the pass around them.
            del steps[ended:]
    several = {source for source, who in speakers.items() if len(who) > 1}
    events = (*_order(ordered), *sorted(others, key=lambda event: _rank(event, several)))
    # The lines of a state that do not begin in a known way come from the same line of XLA's code as the first one.
    states = {(event.source, event.line) for event in events if event.text.startswith(_STATES)}
    return tuple(event for event in events if (event.source, event.line) not in states)


def _rank(event: LogEvent, several: Container[str]) -> tuple[float, str, int, str]:
    """Return the sort key of an event among events without a fixed order; events with equal keys stay in log order."""
    # Messages outside any pass come after those of all passes.
    run = event.run if event.run >= 0 else math.inf
    return (run, event.source, event.line, event.text) if event.source in several else (run, event.source, 0, "")


def _order(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """Yield events with consecutive failed fusion attempts sorted, so that the order is the same for every compile."""
    for _, of_run in groupby(events, key=lambda event: event.run):
        attempts: list[list[LogEvent]] = []
        for event in of_run:
            if not attempts or event.text.startswith(_ATTEMPT):
                attempts.append([])
            attempts[-1].append(event)
        for failed, group in groupby(attempts, key=_is_failed):
            alike = list(group)
            if failed:
                alike.sort(key=lambda attempt: [event.text for event in attempt])
            yield from chain.from_iterable(alike)


def _is_failed(attempt: list[LogEvent]) -> bool:
    return attempt[0].text.startswith(_ATTEMPT) and not any(_MADE in event.text for event in attempt)


def _split(log: str) -> Iterator[tuple[str, str, int, str]]:
    """Yield the thread, file, line number and text of each message, which may span several lines."""
    head: re.Match[str] | None = None
    rest: list[str] = []
    for line in log.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            rest.append(line)
            continue
        if head:
            yield head["thread"], head["source"], int(head["line"]), "\n".join((head["text"], *rest)).rstrip()
        head, rest = match, []
    if head:
        yield head["thread"], head["source"], int(head["line"]), "\n".join((head["text"], *rest)).rstrip()


def _clean(text: str) -> str:
    if _PROTO.search(text):
        text = " ".join(_PROTO.sub("", text).split())
    for pattern, instead in _NOISE:
        text = pattern.sub(instead, text)
    return _drop_configs(text)


def _drop_configs(text: str) -> str:
    """Return a text without each `, backend_config={...}`, a JSON object that may contain others."""
    while (start := text.find(_CONFIG)) >= 0:
        depth = 0
        end = start + len(_CONFIG)
        # A pattern cannot match nested braces, so the depth is counted.
        for end in range(start + len(_CONFIG), len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth <= 0:
                break
        text = text[:start] + text[end + 1 :]
    return text
