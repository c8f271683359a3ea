"""Profiles of compiled programs in the formats of devices that are not available here.

The message is written by jaxlib from its text form, so the fields are those of XLA's own `xplane.proto`.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jax.profiler import ProfileData

from xla_inspect.analysis import list_launches
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from xla_inspect import Capture

KERNEL, COPY = 5000.0, 2000.0
"""The durations in nanoseconds of each kernel and of each copy in these profiles."""

LIBRARY = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>(Params)"
HOST_COPY = "MemcpyH2D"
STREAM, OPS, MODULES = "Stream #20(Compute)", "XLA Ops", "XLA Modules"


@dataclass(frozen=True)
class Ran:
    """One event of a profile: name, start and duration in nanoseconds, statistics, and a short name or none."""

    name: str
    start: float
    duration: float
    stats: Mapping[str, str] = field(default_factory=dict)
    display: str = ""


type Lines = Mapping[str, Sequence[Ran]]


def write_xspace(path: Path, planes: Mapping[str, Lines]) -> Path:
    """Write a profile (planes of lines of events) in the format of XLA's profiler, and return the path."""
    text = "".join(_write_plane(number, name, lines) for number, (name, lines) in enumerate(planes.items(), 1))
    path.write_bytes(ProfileData.text_proto_to_serialized_xspace(text))
    return path


def write_chrome(path: Path, planes: Mapping[str, Lines]) -> Path:
    """Write a profile in the format of JAX's `trace.json.gz`, and return the path."""
    records: list[dict[str, Any]] = []
    for process, (name, lines) in enumerate(planes.items(), 1):
        records.append({"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}})
        for thread, (line, events) in enumerate(lines.items()):
            place = {"pid": process, "tid": thread}
            records.append({"ph": "M", **place, "name": "thread_name", "args": {"name": line}})
            for event in events:
                args = dict(event.stats) | ({"long_name": event.name} if event.display else {})
                times = {"ts": event.start / 1000, "dur": event.duration / 1000}
                records.append({"ph": "X", **place, **times, "name": event.display or event.name, "args": args})
    text = json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*records, {}]})
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_nsight(path: Path, planes: Mapping[str, Lines]) -> Path:
    """Write a profile as `nsys stats --report cuda_gpu_trace --format csv`, which has symbols but no HLO names."""
    head = (
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
        "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
    )
    rows = ["Processing [net.sqlite] with [cuda_gpu_trace.py]... ", "", head]
    for event in next(iter(planes.values()))[STREAM]:
        is_copy = event.name.startswith("Memcpy")
        name = f"[CUDA memcpy {event.name.removeprefix('Memcpy')}]" if is_copy else f'"{event.name}"'
        sizes = ",,,,,,,,,0.001,88.1,Device,Device" if is_copy else "4,1,1,128,1,1,32,0.000,0.001,,,,"
        rows.append(f"{event.start:.0f},{event.duration:.0f},7,{sizes},NVIDIA H100 (0),1,,20,{name}")
    path.write_text("\n".join((*rows, "")), encoding="utf-8")
    return path


def profile_gpu(capture: Capture, steps: int = 2) -> dict[str, Lines]:
    """Return a made-up GPU profile of a program: kernels on a stream by symbol, and again by operation."""
    module = capture.module.name
    stream: list[Ran] = [Ran(HOST_COPY, 0, 1000), Ran(LIBRARY, 1000, 3000)]
    at = 4000.0
    for _ in range(steps):
        for launch in list_launches(capture):
            symbol = launch.thunk.symbol if launch.thunk else ""
            duration = KERNEL if symbol else COPY
            for _ in range(launch.runs or 1):
                stats = {"hlo_op": launch.name, "hlo_module": module}
                other = LIBRARY if launch.opcode == "custom-call" else "MemcpyD2D"
                stream.append(Ran(symbol or other, at, duration, stats))
                at += duration
    stream.append(Ran("loop_add_fusion", at, 700, {"hlo_op": "loop_add_fusion", "hlo_module": "jit_other"}))
    return {"/device:GPU:0": {STREAM: stream, OPS: [*stream]}, "/host:CPU": {"python": [Ran("net.py:1 f", 0, at)]}}


def profile_tpu(capture: Capture, steps: int = 2) -> dict[str, Lines]:
    """Return a made-up TPU profile of a program: operations by HLO text, with those of loops nested."""
    ops: list[Ran] = []
    modules: list[Ran] = []
    at = 0.0
    for _ in range(steps):
        begin = at
        for event in _walk_tpu(capture.after, at):
            ops.append(event)
            at = max(at, event.start + event.duration)
        modules.append(Ran(f"{capture.module.name}(1234567)", begin, at - begin))
        ops.append(Ran("%fusion.1 = f32[8]{0} fusion(%p), kind=kLoop", at, 900, {}, "fusion.1"))
        modules.append(Ran("jit_other(99)", at, 900))
        at += 1000
    return {"/device:TPU:0": {"Steps": [Ran("0", 0, at)], MODULES: modules, OPS: ops}, "/host:CPU": {}}


def _walk_tpu(text: str, at: float) -> Iterator[Ran]:
    module = parse_module(text)

    def walk(name: str, start: float) -> Iterator[Ran]:
        for instruction in module.computation(name):
            if instruction.opcode in {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}:
                continue
            inner: list[Ran] = []
            end = start + KERNEL
            for callee in instruction.called if instruction.opcode in {"while", "call", "conditional"} else ():
                for event in walk(callee, end):
                    inner.append(event)
                    end = max(end, event.start + event.duration)
            stats = {"hlo_category": instruction.opcode, "tf_op": instruction.op_name or ""}
            yield Ran(instruction.text.strip().removeprefix("ROOT "), start, end - start, stats, instruction.name)
            yield from inner
            start = end

    yield from walk(module.entry.name, at)


def _write_plane(number: int, name: str, lines: Lines) -> str:
    events = [event for line in lines.values() for event in line]
    kinds = {key: at for at, key in enumerate(dict.fromkeys((event.name, event.display) for event in events), 1)}
    stats = {key: at for at, key in enumerate(dict.fromkeys(key for event in events for key in event.stats), 1)}
    # Texts that many share are names of stats, which others refer to.
    texts = dict.fromkeys(value for event in events for value in event.stats.values())
    shared = {text: at for at, text in enumerate(texts, len(stats) + 1)}
    parts = [f"id: {number} name: {_quote(name)}"]
    for at, (line, ran) in enumerate(lines.items(), 1):
        listed = "".join(_write_event(event, kinds, stats, shared) for event in ran)
        parts.append(f"lines {{ id: {at} name: {_quote(line)} timestamp_ns: 1000 {listed} }}")
    for (text, display), at in kinds.items():
        display_line = f"display_name: {_quote(display)}" if display else ""
        parts.append(f"event_metadata {{ key: {at} value {{ id: {at} name: {_quote(text)} {display_line} }} }}")
    for text, at in {**stats, **{f"{text}": at for text, at in shared.items()}}.items():
        parts.append(f"stat_metadata {{ key: {at} value {{ id: {at} name: {_quote(text)} }} }}")
    return f"planes {{ {' '.join(parts)} }}\n"


def _write_event(
    event: Ran, kinds: Mapping[tuple[str, str], int], stats: Mapping[str, int], shared: Mapping[str, int]
) -> str:
    stats_text = "".join(
        f"stats {{ metadata_id: {stats[key]} ref_value: {shared[value]} }} " for key, value in event.stats.items()
    )
    offset, duration = round(event.start * 1000), round(event.duration * 1000)
    kind = kinds[event.name, event.display]
    return f"events {{ metadata_id: {kind} offset_ps: {offset} duration_ps: {duration} {stats_text}}} "


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)
