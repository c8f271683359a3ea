"""The information that a capture lacks for an explanation, and how to get it."""

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
    "This capture has no compiler messages. Pass the function itself, or save a capture with its messages: "
    "`capture(..., reasons=True).to_json()`."
)


def list_gaps(evidence: Evidence, trouble: str = "", kinds: Sequence[str] = ()) -> Iterator[str]:
    """Yield sentences about the information that a capture lacks for an explanation, and how to get it.

    Args:
        evidence: The capture.
        trouble: The reason why requested compiler messages are missing.
        kinds: The kinds of explanations, for which the compiler may have no messages.
    """
    capture = evidence.capture
    if capture.error:
        yield f"The program does not compile: {tell_failure(capture)}. The answer describes the last module."
    if not capture.is_stepped:
        yield "This capture has no modules between passes, so the changes of single passes are not known."
    if not capture.log:
        yield f"There are no compiler messages: {trouble}" if trouble else NO_REASONS
        return
    # Only a pass without messages that could have made this decision is of interest.
    topics = {_TOPICS[kind] for kind in kinds if kind in _TOPICS}
    yield from (text for topic, text in evidence.reasons.silent.items() if topic in topics)
