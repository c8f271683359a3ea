"""The compilers' verbose log as events: what was said, by which file of XLA, while which pass ran."""

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
"""The file that says which pass runs."""

_LINE = re.compile(
    r"[IWEF]\d{4} [\d:.]+ +(?P<thread>\d+) (?P<source>[\w-]+)\.(?:cc|h|cpp):(?P<line>\d+)\] (?P<text>.*)"
)
_PIPELINE = re.compile(r"Running HLO pass pipeline on module (?P<module>\S+): (?P<name>.*)")
_BEGIN = re.compile(r"  HLO pass (?P<name>.*)")
_END = re.compile(r"HLO pass: (?P<name>.*) time: ")

# What is of one machine and moment, or says nothing of a reason: times, places in memory, folders, where an instruction
# comes from.
_TIMED = re.compile(r"\btime: [\d.]+ .?s\b")
_NOISE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
    (re.compile(r'(?<![\w"./])/(?:[\w.+@-]+/)+'), ""),
    (re.compile(r", metadata=\{[^{}]*\}"), ""),
    # The numbers of modules count all that the process has compiled.
    (re.compile(r"(?<=, module )(\S+)\(\d+\)"), r"\1"),
    (re.compile(r"\s*=== Source Location Trace: ===(?:\s*\n\S+:\d+)*\s*"), " "),
)
# What a protocol buffer prints of itself: the mark and the spaces are of this process, so that nobody relies on them.
_PROTO = re.compile(r"\bgo(?:o\.gle)?/debug\w+\s*")
_CONFIG = ", backend_config="
# How what prints the whole state of a module or a pass begins: many lines, each a message. libtpu cuts its own off at a
# length that includes what is of one run.
_STATES = ("HloModule ", "module changed HloModule ", "CopyRemover:", "LayoutConstraints for computation ")

# The files of which several threads speak at once, or which go through instructions in the order of their places in
# memory. Which thread helps a pass, and what comes first, differs from run to run.
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

# Each attempt of libtpu's fusion begins so. It looks at the users of a producer in the order of their places in memory.
_ATTEMPT, _MADE = "Pre-considering", "created new fusion"


_PLACE = re.compile(rb"[IWEF]\d{4} [\d:.]+ +\d+ (?P<place>[\w.-]+:\d+)\] (?P<text>.*)")
_STATES_WRITTEN = tuple(state.encode() for state in _STATES)


def drop_states(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a log but for those of whole states, of which the first is left: they may be nearly all."""
    places: set[bytes] = set()
    is_state = False
    for line in lines:
        if head := _PLACE.match(line):
            begins = head["text"].startswith(_STATES_WRITTEN)
            is_state = head["place"] in places and not begins
            if begins:
                places.add(head["place"])
        if not is_state:
            yield line


@dataclass
class _Step:
    """A pass that runs in a thread of the compiler, or the thread itself, and the pipeline that runs inside it.

    A pipeline says when it begins and not when it ends, so the pass or thread around it has the last that began.
    """

    run: int = -1
    pipeline: str = ""
    name: str = ""
    module: str = ""
    inner: str = ""
    inner_module: str = ""


def read_log(log: str, sources: frozenset[str]) -> tuple[LogEvent, ...]:
    """Return what a log says, in order, without what is of the machine that it was written on.

    What passes say comes first. Then the words of files that have no order, sorted by run, that of another thread where
    their own runs no pass; and what is said where no pass runs, file by file: in order where one thread says all that
    the file has to say, else sorted. A line of XLA's that prints the whole state of a module or of a pass gives no
    reasons, and is left out with all that it prints: captures hold the modules.

    Args:
        log: What the compiler wrote.
        sources: The files of XLA whose words are wanted, without their suffix.
    """
    ordered: list[LogEvent] = []
    others: list[LogEvent] = []
    threads: dict[str, list[_Step]] = {}
    running: list[_Step] = []
    speakers: dict[str, set[str]] = {source: {"one", "another"} for source in _UNORDERED}
    runs = 0
    for thread, source, line, text in _split(log):
        steps = threads.setdefault(thread, [_Step()])
        if source != PASSES:
            if source in sources and not _TIMED.search(text):
                at = running[-1] if source in _UNORDERED and running else steps[-1]
                event = LogEvent(at.run, at.pipeline, at.name, at.module, source, line, _clean(text))
                is_ordered = at.run >= 0 and source not in _UNORDERED
                (ordered if is_ordered else others).append(event)
                if not is_ordered:
                    speakers.setdefault(source, set()).add(thread)
        elif found := _PIPELINE.match(text):
            steps[-1].inner, steps[-1].inner_module = found["name"], found["module"]
        elif found := _BEGIN.match(text):
            steps.append(_Step(runs, steps[-1].inner, found["name"], steps[-1].inner_module))
            running.append(steps[-1])
            runs += 1
        elif (found := _END.match(text)) and any(step.name == found["name"] for step in steps[1:]):
            ended = len(steps) - 1 - [step.name for step in reversed(steps)].index(found["name"])
            running = [step for step in running if step not in steps[ended:]]
            del steps[ended:]
    several = {source for source, who in speakers.items() if len(who) > 1}
    events = (*_order(ordered), *sorted(others, key=lambda event: _rank(event, several)))
    printed = {(event.source, event.line) for event in events if event.text.startswith(_STATES)}
    return tuple(event for event in events if (event.source, event.line) not in printed)


def _rank(event: LogEvent, several: Container[str]) -> tuple[float, str, int, str]:
    """Return where an event comes among those that have no order of their own; those that rank alike stay in order."""
    run = event.run if event.run >= 0 else math.inf
    return (run, event.source, event.line, event.text) if event.source in several else (run, event.source, 0, "")


def _order(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """Yield events with attempts that follow each other and came to nothing in an order that every run has."""
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
    """Yield the thread, the file, the line in it and the text of each message; one may have several lines."""
    head: re.Match[str] | None = None
    rest: list[str] = []
    for line in log.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            rest.append(line)
            continue
        if head:
            yield head["thread"], head["source"], int(head["line"]), "\n".join((head["text"], *rest)).rstrip()
        head, rest = found, []
    if head:
        yield head["thread"], head["source"], int(head["line"]), "\n".join((head["text"], *rest)).rstrip()


def _clean(text: str) -> str:
    if _PROTO.search(text):
        text = " ".join(_PROTO.sub("", text).split())
    for pattern, instead in _NOISE:
        text = pattern.sub(instead, text)
    return _drop_configs(text)


def _drop_configs(text: str) -> str:
    """Return a text without the configurations of instructions: JSON, in braces that hold others."""
    while (start := text.find(_CONFIG)) >= 0:
        depth = 0
        end = start + len(_CONFIG)
        for end in range(start + len(_CONFIG), len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth <= 0:
                break
        text = text[:start] + text[end + 1 :]
    return text
