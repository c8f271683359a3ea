"""The compilers' verbose log as events: what was said, by which file of XLA, while which pass ran."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    (re.compile(r"\s*=== Source Location Trace: ===(?:\s*\n\S+:\d+)*\s*"), " "),
)
# What a protocol buffer prints of itself: the mark and the spaces are of this process, so that nobody relies on them.
_PROTO = re.compile(r"goo\.gle/debug\w+\s*")
_CONFIG = ", backend_config="
_MODULE = "HloModule "

# Each attempt of libtpu's fusion begins so. It looks at the users of a producer in the order of their places in memory.
_ATTEMPT, _MADE = "Pre-considering", "created new fusion"


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

    What a thread says in which no pass runs comes last, sorted: several may speak at once. A line of XLA's that prints
    whole modules gives no reasons, and is left out with all that it prints: captures hold the modules.

    Args:
        log: What the compiler wrote.
        sources: The files of XLA whose words are wanted, without their suffix.
    """
    inside: list[LogEvent] = []
    outside: list[LogEvent] = []
    threads: dict[str, list[_Step]] = {}
    runs = 0
    for thread, source, line, text in _split(log):
        steps = threads.setdefault(thread, [_Step()])
        if source != PASSES:
            if source in sources and not _TIMED.search(text):
                at = steps[-1]
                event = LogEvent(at.run, at.pipeline, at.name, at.module, source, line, _clean(text))
                (outside if at.run < 0 else inside).append(event)
        elif found := _PIPELINE.match(text):
            steps[-1].inner, steps[-1].inner_module = found["name"], found["module"]
        elif found := _BEGIN.match(text):
            steps.append(_Step(runs, steps[-1].inner, found["name"], steps[-1].inner_module))
            runs += 1
        elif (found := _END.match(text)) and any(step.name == found["name"] for step in steps[1:]):
            while steps.pop().name != found["name"]:
                pass
    printed = {(event.source, event.line) for event in (*inside, *outside) if event.text.startswith(_MODULE)}
    inside, outside = (
        [event for event in events if (event.source, event.line) not in printed] for events in (inside, outside)
    )
    return (*_order(inside), *sorted(outside, key=lambda event: (event.source, event.line, event.text)))


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
