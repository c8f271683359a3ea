"""Texts written from protos, compared with the compiler's own texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from cases import TARGETS
from jaxlib import _hlo
from written_modules import TEXTS

from xla_inspect.hlo import parse_module
from xla_inspect.hlo_proto import read_hlo_proto

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Corpus

# What the compiler's settings say, which are no part of a proto.
SETTINGS = re.compile(
    r", (?:allow_spmd_sharding_propagation_to_(?:parameters|output)=\{[^}]*\}|alias_passthrough_params=true"
    r"|(?:replica_count|num_partitions)=\d+)"
)


def without_settings(text: str) -> str:
    head, line, rest = text.partition("\n")
    return SETTINGS.sub("", head) + line + rest


def sort_keys(text: str) -> str:
    """Return a text with the keys of each line's configuration sorted."""
    return re.sub(r"(?<=backend_config=)\{.*\}(?=,|$)", _sort, text, flags=re.MULTILINE)


def _sort(match: re.Match[str]) -> str:
    try:
        return json.dumps(json.loads(match[0]), sort_keys=True)
    except ValueError:
        return match[0]


def text_beside(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".hlo.pb") + ".txt")


def protos(folder: Path) -> list[Path]:
    """Return the protos with a text beside them, except those of `compact`, whose texts omit instructions."""
    return [
        path
        for path in sorted(folder.glob("*/*.hlo.pb"))
        if text_beside(path).exists() and path.parent.name != "compact"
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_every_dumped_proto_gives_the_text_of_its_dump(corpus: Corpus, target: str) -> None:
    paths = protos(corpus.wait(target))
    different = [
        path.name
        for path in paths
        if without_settings(read_hlo_proto(path.read_bytes()).text) != without_settings(text_beside(path).read_text())
    ]
    assert different == []
    assert len(paths) > 300


@pytest.mark.parametrize("name", TEXTS)
def test_every_attribute_is_written_as_the_compiler_prints_it(name: str) -> None:
    proto = _hlo.hlo_module_from_text(TEXTS[name]).as_serialized_hlo_module_proto()
    text = _hlo.HloModule.from_serialized_hlo_module_proto(proto).to_string()
    module = read_hlo_proto(proto)
    # A dump sorts the keys of configurations and spells asynchronous calls out, and `to_string()` does neither.
    again = _hlo.hlo_module_from_text(module.text).to_string()
    assert text in {module.text, again} or sort_keys(text) == sort_keys(again)
    assert parse_module(module.text).name == module.name
