"""An index lists every capture of every program with its code, and its data is staged."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from programs import gelu, layer
from xla_inspect import Captures, capture_all
from xla_inspect.report.explorer import Recorded, embed_programs, link_pair, recorded_index
from xla_inspect.report.explorer.embed import STAGED

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def programs() -> dict[str, Recorded]:
    return {
        "layer": Recorded("A layer", capture_all(layer.layer, *layer.EXAMPLE)),
        "gelu": Recorded("GELU", capture_all(gelu.gelu, *gelu.EXAMPLE)),
    }


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / STAGED


def test_every_capture_is_listed_with_existing_data(programs: dict[str, Recorded], folder: Path) -> None:
    index = recorded_index.describe_index(programs)
    listed = [(item["program"], item["target"]) for item in index["captures"]]
    assert listed == [(name, target) for name, item in programs.items() for target in item.captures]
    for item in index["captures"]:
        assert (folder / item["src"]).stat().st_size == item["size"]
        assert json.loads((folder / item["src"]).read_text(encoding="utf-8"))["target"] == item["target"]


def test_a_program_is_listed_with_its_code_function_and_file(programs: dict[str, Recorded], folder: Path) -> None:
    index = recorded_index.describe_index(programs)
    first, second = index["programs"]
    codes = json.loads((folder / index["codes"]).read_text(encoding="utf-8"))
    assert codes["layer"] == Path(layer.__file__).read_text(encoding="utf-8")
    assert (first["function"], first["title"], second["name"]) == ("layer", "A layer", "gelu")
    assert first["file"].endswith("programs/layer.py")
    assert first["arguments"] == "x: f32[64,128], w: f32[128,256], b: f32[256]"


def test_the_page_has_the_index_and_the_initial_state(programs: dict[str, Recorded], folder: Path) -> None:
    html = embed_programs(programs, "all", program="gelu", target="h100")
    name = html.partition('data-index="')[2].partition('"')[0]
    assert json.loads((folder / name).read_text(encoding="utf-8"))["programs"][1]["name"] == "gelu"
    assert '{"program": "gelu", "target": "h100"}' in unescape(html)
    assert 'role="img" aria-label="gelu on NVIDIA H100' in html


def test_the_same_index_has_the_same_name(programs: dict[str, Recorded], folder: Path) -> None:
    index = recorded_index.describe_index(programs)
    assert recorded_index.stage_index(index, folder) == recorded_index.stage_index(dict(index), folder)


def test_a_program_that_could_not_be_compiled_is_left_out() -> None:
    missing = Recorded("Nothing", Captures({}, {"h100": "no compiler"}, ("h100",)))
    index = recorded_index.describe_index({"nothing": missing})
    assert (index["programs"], index["captures"]) == ([], [])


def test_a_link_opens_two_targets_side_by_side(programs: dict[str, Recorded]) -> None:
    captures = programs["layer"].captures
    link = link_pair("all", "layer", (captures["h100"], "priority-fusion"), (captures["tpu-v5e"], "tpu_fusion"))
    first = "x=all&program=layer&target=h100&view=passes&pass=priority-fusion"
    assert unescape(link) == f"#{first}&program2=layer&target2=tpu-v5e&view2=passes&pass2=tpu_fusion"
