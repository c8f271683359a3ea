"""A refusal as a clause: from its message if that is known, or else from the table's sentence."""

from __future__ import annotations

import pytest

from xla_inspect.analysis.reasons import list_messages
from xla_inspect.questions.why.explanation import Reason
from xla_inspect.questions.why.refusal_text import write_clause


def refuse(kind: str, sentence: str) -> Reason:
    return Reason("fusion", "refused", "", "fusion", "add.1", ("mul.2",), "said so", sentence, "", kind)


@pytest.mark.parametrize(
    ("kind", "sentence", "clause"),
    [
        (
            "gpu-scatter-result",
            "any",
            "a scatter is complete only after all of its updates, so instructions that read its result run later",
        ),
        (
            "costs-when-fused",
            "The cost model estimates 8.5415 µs with add.1 computed inside mul.2 and 3.168 µs with add.1 as a kernel.",
            "its cost model estimates 8.54 µs for the fused kernel and 3.17 µs for two",
        ),
        ("new", "add.1 is not fused into mul.2. More of it.", "first is not fused into second"),
        ("new", "The kernel would be too large. More of it.", "the kernel would be too large"),
        ("new", "XLA has no tiles for mul.2: more.", "XLA has no tiles for second"),
        ("", "", "“said so”"),
    ],
)
def test_a_refusal_is_a_clause(kind: str, sentence: str, clause: str) -> None:
    assert write_clause(refuse(kind, sentence), "first", "second") == clause


def test_each_clause_belongs_to_a_refusing_message() -> None:
    short = [message for message in list_messages() if message.clause]
    assert short
    assert [message.kind for message in short if message.verdict not in {"refused", "echo"}] == []
