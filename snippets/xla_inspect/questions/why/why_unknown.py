"""The parts that a capture lacks for an answer to *why*, and how to get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import tell_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.questions.why.why_context import Evidence

_TOPICS = {
    "apart": "fusion",
    "together": "fusion",
    "copy": "copies",
    "layout": "layout",
    "transpose": "layout",
    "collective": "sharding",
    "matmul": "matmul",
    "removed": "simplification",
}
NO_REASONS = (
    "This capture holds nothing of what the compiler said. Ask about the function itself, or save a capture with its "
    "reasons: `capture(..., reasons=True).to_json()`."
)


def list_gaps(evidence: Evidence, trouble: str = "", kinds: Sequence[str] = ()) -> Iterator[str]:
    """Yield what could not be known of a capture, and what to do about it.

    Args:
        evidence: The capture.
        trouble: Why the compiler gave no reasons where they were asked for.
        kinds: What is explained, on which the compiler may be silent.
    """
    capture = evidence.capture
    if capture.error:
        yield f"It does not compile: {tell_failure(capture)}. This is of what the compiler left until then."
    if not capture.is_stepped:
        yield "This capture holds no modules between passes, so which pass did what is not known."
    if not capture.log:
        yield f"The compiler gave no reasons: {trouble}" if trouble else NO_REASONS
        return
    wanted = {_TOPICS[kind] for kind in kinds if kind in _TOPICS}
    yield from (text for topic, text in evidence.reasons.silent.items() if topic in wanted)
