"""List what an executable launches, in order, and the steps of the GPU's fusion cost model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.hlo.opcodes import IDLE
from xla_inspect.hlo.record import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

THUNK = re.compile(r"^ *(?P<id>\d+): (?P<kind>k\w+)(?P<rest>.*)$", re.MULTILINE)
ANNOTATION = re.compile(r'profile_annotation: "(.*?)"\s+thunk_id: (\d+)')
DIMENSIONS = re.compile(r"grid: \[(\d+), (\d+), (\d+)\] threads: \[(\d+), (\d+), (\d+)\]\s+shared_memory: (\d+) bytes")
FUSION = re.compile(r"^\s*(?:ROOT )?%(?P<name>\S+) = .*? fusion\(.*?kind=(?P<kind>k\w+)", re.MULTILINE)
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%(?P<name>\S+) = (?:\(.*?\)|\S+) (?P<opcode>[a-z][a-z0-9-]*)\(", re.MULTILINE)
STEP = re.compile(r"^fusion_steps \{\n(.*?)\n\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^ *(\w+): "?(.*?)"?$', re.MULTILINE)


def read_thunks(sequence: str, metadata: str, module: str) -> tuple[Kernel, ...]:
    """Return what a GPU launches, in order, those of loops and branches in the place of their text.

    Args:
        sequence: The dumped thunk sequence, a line per thunk.
        metadata: The dumped thunk metadata, which names the instruction that each thunk was made of.
        module: The optimized module, for the kinds of fusions.
    """
    names = {int(key): name for name, key in ANNOTATION.findall(metadata)}
    kinds: Mapping[str, str] = dict(FUSION.findall(module))
    kernels = []
    for found in THUNK.finditer(sequence):
        name: str = names.get(int(found["id"])) or str(found["kind"])
        size = DIMENSIONS.search(found["rest"])
        numbers = [int(number) for number in size.groups()] if size else []
        kernels.append(
            Kernel(
                name=name,
                kind=found["kind"],
                fusion_kind=kinds.get(name),
                grid=(numbers[0], numbers[1], numbers[2]) if size else None,
                threads=(numbers[3], numbers[4], numbers[5]) if size else None,
                shared_memory=numbers[6] if size else None,
            )
        )
    return tuple(kernels)


def list_entry(module: str) -> tuple[Kernel, ...]:
    """Return the instructions of ENTRY that do work, in the order of the text."""
    entry = module[module.index("\nENTRY ") :] if "\nENTRY " in module else module
    kinds: Mapping[str, str] = dict(FUSION.findall(entry))
    return tuple(
        Kernel(name, opcode, kinds.get(name)) for name, opcode in INSTRUCTION.findall(entry) if opcode not in IDLE
    )


def read_fusion_log(dump: str) -> tuple[str, ...]:
    """Return the steps of the priority fusion's log, one a line, sorted since their order varies between two runs.

    A step reads `fused PRODUCER into CONSUMER as FUSION`, `PRODUCER into CONSUMER: 1.047 us fused, 2.086 us apart`
    or `PRODUCER stays: REASON`; the times are the cost model's.
    """
    return tuple(sorted(_describe_step(body) for body in STEP.findall(dump)))


def _describe_step(body: str) -> str:
    """Return one step in one line."""
    kind = body.split("{", 1)[0].strip()
    fields: dict[str, str] = {}
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
