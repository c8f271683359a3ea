"""A dump of protobufs alone gives the same answers as a dump of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cases import TARGETS

from xla_inspect.dumps import Files, list_modules, pick_module, read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Corpus

    from xla_inspect.captured import Capture


def read(folder: Path, *endings: str) -> Capture:
    """Return the capture read from those files of a dump whose names have the given endings."""
    paths = [path for path in folder.iterdir() if path.name.startswith("module_") and path.name.endswith(endings)]
    files = Files.from_mapping({path.name: path.read_bytes() for path in paths})
    return read_capture(files, pick_module(list_modules(files), "", "it"))


def without_head(text: str) -> str:
    """Return a module without its first line, which contains compiler settings in text form."""
    return text.partition("\n")[2]


@pytest.mark.parametrize("target", TARGETS)
def test_a_dump_of_protos_alone_gives_the_capture_of_one_of_texts(corpus: Corpus, target: str) -> None:
    folder = corpus.wait(target) / "scan"
    texts, protos = read(folder, ".txt"), read(folder, ".hlo.pb")
    assert without_head(protos.before) == without_head(texts.before) != ""
    assert without_head(protos.after) == without_head(texts.after) != ""
    assert protos.buffers.rstrip() == texts.buffers.rstrip() != ""
    assert protos.memory == texts.memory
    assert [change.name for change in protos.passes] == [change.name for change in texts.passes]
    assert [without_head(change.text) for change in protos.passes] == [without_head(c.text) for c in texts.passes]


def test_a_text_is_preferred_to_a_proto_and_the_proto_gives_a_missing_plan(corpus: Corpus) -> None:
    folder = corpus.wait("cpu") / "scan"
    whole = read(folder, ".txt")
    joined = read(folder, "_optimizations.txt", "_optimizations.hlo.pb")
    assert (joined.before, joined.after) == (whole.before, whole.after)
    assert joined.buffers.rstrip() == whole.buffers.rstrip() != ""
