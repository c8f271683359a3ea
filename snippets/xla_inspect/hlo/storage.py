"""Write a capture as compact JSON and read it back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.hlo.frame import Frame
from xla_inspect.hlo.record import Capture, Code, Cost, Kernel, Memory, PassChange, PassRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORMAT = 2
"""Raised by one whenever what is written changes its meaning."""


class LineTable:
    """The distinct lines of many texts that differ little, such as a module after each of its passes.

    A text becomes runs of consecutive lines: `[first, count, first, count, ...]`.
    """

    def __init__(self, lines: Iterable[str] = ()) -> None:
        """Start with the lines of a table that was written before."""
        self.lines = list(lines)
        self._indices = {line: index for index, line in enumerate(self.lines)}

    def add(self, text: str) -> list[int]:
        """Return a text as runs of lines of this table, which takes up the new ones."""
        spans: list[int] = []
        end = -1
        for line in text.split("\n"):
            index = self._indices.setdefault(line, len(self.lines))
            if index == len(self.lines):
                self.lines.append(line)
            if index == end:
                spans[-1] += 1
            else:
                spans += (index, 1)
            end = index + 1
        return spans

    def get(self, spans: Sequence[int]) -> str:
        """Return the text of runs of lines."""
        lines: list[str] = []
        for first, count in zip(spans[::2], spans[1::2], strict=True):
            lines += self.lines[first : first + count]
        return "\n".join(lines)


def dump(capture: Capture) -> str:
    """Return a capture as one line of JSON."""
    table = LineTable()
    plain = {name: getattr(capture, name) for name in _PLAIN}
    record = {
        "format": FORMAT,
        **plain,
        **{name: dict(getattr(capture, name)) for name in ("versions", "options", "sources")},
        **{name: table.add(getattr(capture, name)) for name in _TEXTS},
        "runs": [[run.pipeline, run.name, run.changed] for run in capture.runs],
        "passes": [[change.pipeline, change.name, table.add(change.text)] for change in capture.passes],
        "memory": asdict(capture.memory),
        "cost": {**_flat(capture.cost), "details": dict(capture.cost.details)},
        "kernels": [_flat(kernel) for kernel in capture.kernels],
        "fusion_log": list(capture.fusion_log),
        "code": [[code.kernel, code.language, table.add(code.text)] for code in capture.code],
        "frames": [[key, [list(_flat(frame).values()) for frame in chain]] for key, chain in capture.frames.items()],
        "lines": table.lines,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Capture:
    """Return the capture that `dump` wrote.

    Raises:
        InspectError: The text is no capture, or one of another format.
    """
    try:
        record = json.loads(text)
    except ValueError as error:
        message = f"this is not a capture: {error}"
        raise InspectError(message) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else None
        message = f"this is a capture of format {found!r}, and format {FORMAT} is read here; capture it again"
        raise InspectError(message)
    try:
        return _build(record)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        message = f"this capture is damaged ({type(error).__name__}: {error}); capture it again"
        raise InspectError(message) from error


def _build(record: dict[str, Any]) -> Capture:
    """Return the capture of a record."""
    table = LineTable(record["lines"])
    return Capture(
        **{name: record[name] for name in _PLAIN},
        versions=record["versions"],
        options=record["options"],
        sources=record["sources"],
        **{name: table.get(record[name]) for name in _TEXTS},
        runs=tuple(PassRun(*run) for run in record["runs"]),
        passes=tuple(PassChange(pipeline, name, table.get(spans)) for pipeline, name, spans in record["passes"]),
        memory=Memory(**record["memory"]),
        cost=Cost(**record["cost"]),
        kernels=tuple(_build_kernel(kernel) for kernel in record["kernels"]),
        fusion_log=tuple(record["fusion_log"]),
        code=tuple(Code(kernel, language, table.get(spans)) for kernel, language, spans in record["code"]),
        frames={key: tuple(Frame(*frame) for frame in chain) for key, chain in record["frames"]},
    )


def _build_kernel(kernel: dict[str, Any]) -> Kernel:
    """Return a kernel with its dimensions as tuples."""
    plain: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in kernel.items()}
    return Kernel(**plain)


def _flat(item: Cost | Kernel | Frame) -> dict[str, Any]:
    """Return the fields of a record by name, in order."""
    return {each.name: getattr(item, each.name) for each in fields(item)}


_PLAIN = ("program", "target", "source_file", "source", "jaxpr", "jaxpr_locations")
_TEXTS = ("stablehlo", "stablehlo_locations", "before", "after", "buffers", "live_ranges")
