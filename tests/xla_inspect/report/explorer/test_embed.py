"""An explorer on a page: its data is staged once, and links open its states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xla_inspect import Capture, Captures, InspectError
from xla_inspect.analysis import follow_passes
from xla_inspect.captured import pack, unpack
from xla_inspect.report.explorer import embed

pytestmark = pytest.mark.usefixtures("all_targets")


def reload(capture: Capture) -> Capture:
    """Return the capture from the cache, with its long parts not yet read."""
    return unpack(pack(capture))


def test_staged_data_is_found_without_reading_the_capture(captures: Captures, tmp_path: Path) -> None:
    result = captures["h100"]
    name = embed.stage_data(result, tmp_path)
    again = reload(result)
    assert embed.stage_data(again, tmp_path) == name
    assert embed.captures_title([again]) == embed.captures_title([result])
    assert not {"passes", "after", "before"} & again.__dict__.keys()
    assert json.loads((tmp_path / name).read_text(encoding="utf-8"))["target"] == "h100"


@pytest.mark.parametrize("trouble", ["empty", "cut", "garbage", "changed", "swapped"])
def test_damaged_data_is_written_again_and_logged(
    captures: Captures, tmp_path: Path, caplog: pytest.LogCaptureFixture, trouble: str
) -> None:
    names = [embed.stage_data(captures[target], tmp_path) for target in ("cpu", "h100")]
    path, other = (tmp_path / name for name in names)
    right = path.read_bytes()
    wrong = {
        "empty": b"",
        "cut": right[:-40],
        "garbage": bytes(range(256)),
        "changed": right.replace(b"layer", b"lager", 1),
        "swapped": other.read_bytes(),
    }
    path.write_bytes(wrong[trouble])
    with caplog.at_level("INFO", logger="xla_inspect"):
        assert [embed.stage_data(captures[target], tmp_path) for target in ("cpu", "h100")] == names
    assert path.read_bytes() == right
    assert [record.getMessage() for record in caplog.records] == [
        f"the explorer's data {path.name} is damaged or belongs to another file, so it is written again"
    ]


def test_marks_on_passes_have_data_of_their_own_and_the_last_state_gets_those_after_it(
    captures: Captures, tmp_path: Path
) -> None:
    result = captures["h100"]
    name = embed.stage_data(result, tmp_path)
    last = len(result.passes)
    marks = {"note": "A note.", "states": {1: ("changed", "words", "A sentence."), last + 1: ("missed", "not run", "")}}
    marked = embed.stage_data(result, tmp_path, numbers=marks)
    assert marked != name
    plain, data = (json.loads((tmp_path / file).read_text(encoding="utf-8")) for file in (name, marked))
    assert data.pop("numbers")["states"].keys() == {"1", str(last)}
    assert {**data, "seal": ""} == {**plain, "seal": ""}


def test_the_name_of_data_depends_on_outcome_and_source(captures: Captures) -> None:
    result = captures["cpu"]
    edited = result.retold(sources={**result.sources, result.source_file: "# new"})
    names = {embed.hash_capture(item) for item in (*captures.values(), edited)}
    assert len(names) == len(captures) + 1


def test_the_name_of_data_depends_on_measured_times(captures: Captures, tmp_path: Path) -> None:
    times = tmp_path / "times.json"
    plain = embed.hash_capture(captures["h100"], times=times)
    times.write_text("{}", encoding="utf-8")
    assert embed.hash_capture(captures["h100"], times=times) != plain == embed.hash_capture(captures["h100"])


def test_the_name_of_data_depends_only_on_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    # A stored hash would not see the changes, which happen in memory alone.
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    plain, content = embed.hash_code.__wrapped__(), Path.read_bytes
    changes = {}
    for name in ("data.py", "instruction_identity.py", "graph_data.py", "release_diff.py"):
        monkeypatch.setattr(Path, "read_bytes", lambda self, name=name: b"" if self.name == name else content(self))
        changes[name] = embed.hash_code.__wrapped__() != plain
    assert changes == {
        "data.py": True,
        "instruction_identity.py": True,
        "graph_data.py": True,
        "release_diff.py": False,
    }


def test_a_link_opens_the_state_after_a_pass(captures: Captures) -> None:
    result = captures["h100"]
    text = embed.link_explorer(result, "layer", "<here>", after="splitk-rewriter")
    number = [state.name for state in follow_passes(result)].index("splitk-rewriter")
    state = f"#x=layer&amp;target=h100&amp;view=passes&amp;pass={number}"
    assert text == f'<a href="{state}">&lt;here&gt;</a>'
    assert (
        embed.link_explorer(result, "layer", "x", view="after")
        == '<a href="#x=layer&amp;target=h100&amp;view=after">x</a>'
    )


def test_a_link_to_a_pass_without_changes_raises_an_error(captures: Captures) -> None:
    with pytest.raises(InspectError, match="no pass 'splitk-rewriter' changed layer for cpu"):
        embed.link_explorer(captures["cpu"], "layer", "x", after="splitk-rewriter")
