"""A damaged record of pass runs gives its remaining entries."""

from __future__ import annotations

from xla_inspect.dumps import read_metadata

ENTRY = (
    'pass_metadata {{\n  pass_name: "{}"\n  pipeline_name: "p"\n'
    "  start_timestamp_usec: {}\n  end_timestamp_usec: {}\n}}\n"
)


def test_an_entry_without_a_pass_is_skipped_and_a_missing_time_is_zero() -> None:
    text = ENTRY.format("dce", 1_000_000, 3_000_000) + ENTRY.format("cse", "4x", "5y")
    nameless = "pass_metadata {\n  pass_id: 3\n}\n"
    record = read_metadata(text + nameless)
    assert [(run.name, seconds) for run, seconds in zip(record.runs, record.seconds, strict=True)] == [
        ("dce", 2.0),
        ("cse", 0.0),
    ]
