"""The index of passes: targets, counts of changes and an example for each pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chapters.pass_index import LINES, PassRecord, find_passes
from programs import gallery
from xla_inspect import capture, capture_all
from xla_inspect.captured import Captures, PassChange, PassRun

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

MODULE = """HloModule m

ENTRY main {{
  %x.1 = f32[8] parameter(0)
  {body}
}}
"""


@pytest.fixture(scope="module")
def program() -> Capture:
    """The capture of the dense layer on the CPU."""
    piece = gallery.PROGRAMS["layer"]
    return capture(piece.function, *piece.example)


def rewrite(one: Capture, before: str, *steps: tuple[str, str]) -> Captures:
    """Return a capture with passes of these names that produced these lines."""
    passes = tuple(PassChange("all", name, MODULE.format(body=body)) for name, body in steps)
    runs = tuple(PassRun("all", name, changed=True) for name, _ in steps)
    return Captures({"cpu": replace(one, before=MODULE.format(body=before), passes=passes, runs=runs)}, {}, ("cpu",))


def test_runs_and_changes_are_counted_by_target(program: Capture) -> None:
    piece = gallery.PROGRAMS["gelu"]
    both = {
        "layer": Captures({"cpu": program}, {}, ("cpu",)),
        "gelu": capture_all(piece.function, *piece.example, targets=["cpu"]),
    }
    passes = find_passes(both, ["cpu"])
    captures = [record["cpu"] for record in both.values()]
    assert set(passes) == {run.name for one in captures for run in one.runs}
    for name, record in passes.items():
        runs = [run for one in captures for run in one.runs if run.name == name]
        use = record.uses["cpu"]
        assert (use.runs, use.changes) == (len(runs), sum(run.changed for run in runs))
        assert set(record.pipelines) == {run.pipeline for run in runs}
    assert passes["algsimp"].uses["cpu"].programs == ["layer", "gelu"]


def test_a_pipeline_that_another_runs_names_what_it_runs(program: Capture) -> None:
    passes = find_passes({"layer": Captures({"cpu": program}, {}, ("cpu",))}, ())
    assert {"algsimp", "dce", "constant_folding"} <= set(passes["simplification"].inner)
    assert passes["algsimp"].inner == passes["fusion"].inner == []


def test_the_smallest_change_of_a_pass_is_its_example(program: Capture) -> None:
    kept_line = "ROOT %y.2 = f32[8] negate(%x.1)"
    small = rewrite(program, kept_line, ("trim", "ROOT %y.2 = f32[8] abs(%x.1)"))
    wide = "%a.2 = f32[8] add(%x.1, %x.1)\n  %b.3 = f32[8] multiply(%a.2, %a.2)\n  ROOT %y.4 = f32[8] negate(%b.3)"
    large = rewrite(program, wide, ("trim", kept_line))
    passes = find_passes({"large": large, "small": small}, ["cpu"])
    example = passes["trim"].example
    assert example is not None
    assert (example.program, example.target, example.more) == ("small", "cpu", 0)
    assert example.before == ("ROOT %y.2 = f32[8] negate(%x.1)",)
    assert example.after == ("ROOT %y.2 = f32[8] abs(%x.1)",)
    assert example.summary == "removed 1 negate, added 1 abs"
    assert passes["trim"].uses["cpu"].shows == ["large", "small"]


def test_renumbering_is_not_a_visible_change(program: Capture) -> None:
    captures = rewrite(program, "ROOT %y.2 = f32[8] negate(%x.1)", ("rename", "ROOT %y.3 = f32[8] negate(%x.1)"))
    record = find_passes({"one": captures}, ["cpu"])["rename"]
    assert record.uses["cpu"].programs == ["one"]
    assert record.uses["cpu"].shows == []
    assert record.count(["cpu"]) == 0
    assert record.example is not None
    assert record.example.summary == "only names changed (1 instruction)"


def test_only_the_different_part_of_a_config_is_shown(program: Capture) -> None:
    line = "ROOT %y.2 = f32[8] negate(%x.1), backend_config={}"
    old = line.replace("{}", '{"kept":1,"inner":{"same":2,"size":3}}')
    new = line.replace("{}", '{"kept":1,"inner":{"same":2,"size":4}}')
    example = find_passes({"one": rewrite(program, old, ("tile", new))}, ["cpu"])["tile"].example
    assert example is not None
    assert example.before[0].endswith('backend_config={"inner":{"size":3}}')
    assert example.after[0].endswith('backend_config={"inner":{"size":4}}')


def test_further_lines_are_counted_and_targets_that_are_not_asked_for_have_no_example(program: Capture) -> None:
    many = "".join(f"%a.{at} = f32[8] add(%x.1, %x.1)\n  " for at in range(2, 9))
    captures = rewrite(program, f"{many}ROOT %y.9 = f32[8] negate(%x.1)", ("dce", "ROOT %y.9 = f32[8] negate(%x.1)"))
    example = find_passes({"one": captures}, ["cpu"])["dce"].example
    assert example is not None
    assert (len(example.before), len(example.after), example.more) == (LINES, 0, 7 - LINES)
    record = find_passes({"one": captures}, ["h100"])["dce"]
    assert (record.example, record.uses["cpu"].shows, record.uses["cpu"].changes) == (None, [], 1)


def test_dumps_without_a_pass_name_are_left_out(program: Capture) -> None:
    captures = rewrite(program, "ROOT %y.2 = f32[8] negate(%x.1)", ("pipeline-start", "ROOT %y.2 = f32[8] abs(%x.1)"))
    captures = Captures({"cpu": replace(captures["cpu"], runs=(PassRun("all", "dce", changed=False),))}, {}, ("cpu",))
    assert find_passes({"one": captures}, ["cpu"]).keys() == {"dce"}


def test_a_pass_counts_over_the_targets_that_are_asked_for(program: Capture) -> None:
    record = find_passes({"layer": Captures({"cpu": program}, {}, ("cpu",))}, ["cpu"])["algsimp"]
    assert isinstance(record, PassRecord)
    assert (record.count(["cpu"]), record.count(["h100"]), record.has_changed) == (1, 0, True)
