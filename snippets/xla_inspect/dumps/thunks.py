"""Additional dumps of the GPU compiler: the thunks, in order, and the log of the fusion cost model."""

from __future__ import annotations

import re

from xla_inspect.captured import Thunk

THUNK = re.compile(r"^ *(?P<id>\d{1,18}): (?P<kind>k\w+)(?P<rest>.*)$", re.MULTILINE)
ANNOTATION = re.compile(r'profile_annotation: "(.*?)"\s+thunk_id: (\d{1,18})')
DIMENSIONS = re.compile(
    r"(?:(?P<symbol>[\w.$]+) )?grid: \[(\d{1,18}), (\d{1,18}), (\d{1,18})\] "
    r"threads: \[(\d{1,18}), (\d{1,18}), (\d{1,18})\]\s+shared_memory: (\d{1,18}) bytes"
)
STEP = re.compile(r"^fusion_steps \{\n(.*?)\n\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^ *(\w+): "?(.*?)"?$', re.MULTILINE)


def read_thunks(sequence: str, metadata: str) -> tuple[Thunk, ...]:
    """Return the steps of a GPU executable in order, with the bodies of loops and branches expanded in place.

    Args:
        sequence: The dumped thunk sequence, one line per thunk; empty for other targets.
        metadata: The dumped thunk metadata, which names the instruction that each thunk executes.
    """
    names = {int(key): name for name, key in ANNOTATION.findall(metadata)}
    thunks = []
    for match in THUNK.finditer(sequence):
        size = DIMENSIONS.search(match["rest"])
        numbers = [int(number) for number in size.groups()[1:]] if size else []
        thunks.append(
            Thunk(
                name=names.get(int(match["id"])) or str(match["kind"]),
                kind=match["kind"],
                grid=(numbers[0], numbers[1], numbers[2]) if size else None,
                threads=(numbers[3], numbers[4], numbers[5]) if size else None,
                shared_memory=numbers[6] if size else None,
                symbol=size["symbol"] or "" if size else "",
            )
        )
    return tuple(thunks)


def read_fusion_log(dump: str) -> tuple[str, ...]:
    """Return the steps of the priority fusion's log, one per line, sorted because their order varies between runs.

    A step reads `fused PRODUCER into CONSUMER as FUSION`, `PRODUCER into CONSUMER: 1.047 us fused, 2.086 us apart`,
    `PRODUCER not into CONSUMER: REASON` or `PRODUCER stays: REASON`; the times are the cost model's.
    """
    return tuple(sorted(_describe_step(body) for body in STEP.findall(dump)))


def _describe_step(body: str) -> str:
    """Return one step of the priority fusion's log as one line, in the forms of `read_fusion_log`."""
    kind = body.split("{", 1)[0].strip()
    fields: dict[str, str] = {}
    # A field with several values appears once for each of them.
    for name, value in FIELD.findall(body):
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    producer = fields.get("producer_name", "?")
    consumer = fields.get("consumer_name", fields.get("consumer_names", "?"))
    if kind == "fusion":
        return f"fused {producer} into {consumer} as {fields.get('fusion_name', '?')}"
    if kind == "update_priority":
        apart, fused = fields.get("us_unfused", "?"), fields.get("us_fused", "?")
        return f"{producer} into {consumer}: {fused} us fused, {apart} us apart"
    reason = fields.get("reason", kind)
    return f"{producer} not into {consumer}: {reason}" if "consumer_name" in fields else f"{producer} stays: {reason}"
