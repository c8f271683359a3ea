"""An explorer on a page: its data is staged once, without reading what is known, and links lead to its states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from programs import layer as program
from xla_inspect import Capture, Captures, InspectError, capture_all
from xla_inspect.hlo import storage
from xla_inspect.hlo.trail import follow
from xla_inspect.report.explorer import embed

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def layers() -> Captures:
    return capture_all(program.layer, *program.EXAMPLE)


def reload(capture: Capture) -> Capture:
    """Return the capture as the cache gives it, its long parts unread."""
    return storage.unpack(storage.pack(capture), identity=capture.identity)


def test_data_that_is_staged_is_found_without_reading_the_capture(layers: Captures, tmp_path: Path) -> None:
    found = layers["h100"]
    name = embed.stage(found, tmp_path)
    again = reload(found)
    assert embed.stage(again, tmp_path) == name
    assert embed.captures_title([again]) == embed.captures_title([found])
    assert not {"passes", "after", "before"} & again.__dict__.keys()
    assert json.loads((tmp_path / name).read_text(encoding="utf-8"))["target"] == "h100"


def test_data_is_named_by_the_outcome_and_by_the_source(layers: Captures) -> None:
    found = layers["cpu"]
    edited = found.retold(sources={**found.sources, found.source_file: "# new"})
    names = {embed.hash_capture(each) for each in (*layers.values(), edited)}
    assert len(names) == len(layers) + 1


def test_data_is_named_by_the_code_that_makes_it_and_by_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, read = embed.hash_code.__wrapped__(), Path.read_bytes
    changed = {}
    for name in ("data.py", "trail.py", "graphs.py", "gallery.py"):
        monkeypatch.setattr(Path, "read_bytes", lambda self, name=name: b"" if self.name == name else read(self))
        changed[name] = embed.hash_code.__wrapped__() != plain
    assert changed == {"data.py": True, "trail.py": True, "graphs.py": True, "gallery.py": False}


def test_a_link_opens_the_state_after_a_pass(layers: Captures) -> None:
    found = layers["h100"]
    text = embed.link(found, "layer", "<here>", after="splitk-rewriter")
    number = [state.name for state in follow(found)].index("splitk-rewriter")
    state = f"#x=layer&amp;target=h100&amp;view=passes&amp;pass={number}"
    assert text == f'<a href="{state}">&lt;here&gt;</a>'
    assert embed.link(found, "layer", "x", view="after") == '<a href="#x=layer&amp;target=h100&amp;view=after">x</a>'


def test_a_link_to_a_pass_that_did_nothing_is_refused(layers: Captures) -> None:
    with pytest.raises(InspectError, match="no pass 'splitk-rewriter' changed layer for cpu"):
        embed.link(layers["cpu"], "layer", "x", after="splitk-rewriter")
