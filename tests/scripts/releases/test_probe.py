"""The probe compiles under an environment's JAX, reports the results, and resumes after an interruption."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stamps
from programs import layer
from releases import change_summary, compacting, measuring, pages, pinned_environments, public_names
from releases.__main__ import main
from releases.record_update import list_lacking
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.compilation import PINNED, list_options
from xla_inspect.releases import Disagreement, Drift, Environment, ReleaseError, read_log, read_releases, write_release

if TYPE_CHECKING:
    from xla_inspect.releases import Release

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

ROOT = Path(__file__).resolve().parents[3]
TASKS = measuring.list_tasks(["layer"], ["cpu"])


class Here(Environment):
    """The environment that runs this test, in the role of the environment of a release."""

    @property
    def python(self) -> Path:
        return Path(sys.executable)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    kinds = {"gpu": "not asked for", "tpu": "not asked for"}
    return Here("0.12.0.1", tmp_path_factory.mktemp("release"), {"jax": "0.12.0.1"}, kinds)


@pytest.fixture(scope="module")
def messages(here: Here) -> list[str]:
    """The output of the probe for one measured program."""
    heard: list[str] = []
    measuring.measure_release(here, TASKS, heard.append)
    return heard


@pytest.fixture(scope="module")
def release(here: Here, messages: list[str]) -> Release:
    assert messages
    return compacting.compact(here, TASKS, {})


def test_the_probe_gives_the_same_result_as_a_capture(release: Release) -> None:
    outcome, captured = release.programs["layer"].outcomes["cpu"], capture(layer.layer, *layer.EXAMPLE)
    assert outcome.count("kernel") == sum(outcome.launches.values()) == len(list_kernels(captured))
    assert outcome.instructions == sum(captured.module.opcode_counts().values())
    assert outcome.memory.get("temporaries", 0) == captured.memory.temporaries
    assert outcome.memory["arguments"] == captured.memory.arguments
    assert outcome.flops == captured.cost.flops
    assert sorted(outcome.changed) == sorted(set(captured.pass_names))
    assert release.texts["layer"]["jaxpr"] == captured.jaxpr


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_a_release_gets_the_same_compiler_options_as_captures(target: str, tmp_path: Path) -> None:
    (task,) = measuring.list_tasks(["layer"], [target])
    probe_task = measuring.build_probe_task(task, {}, tmp_path)
    kind = task["kind"]
    whole = {**PINNED[kind], **list_options(kind, tmp_path)}
    whole.pop("xla_dump_to")  # which the probe adds, a folder for each task
    listed = whole.pop(measuring.LISTED, None)
    assert probe_task["options"] == whole
    assert listed in {None, measuring.list_flags()[measuring.LISTED]}


def test_it_lists_the_passes_that_ran_and_not_those_that_are_switched_off(release: Release) -> None:
    ran = {run.name for run in capture(layer.layer, *layer.EXAMPLE).runs}
    assert set(release.passes["cpu"]) <= ran
    assert {"algsimp", "dce", "fusion"} <= set(release.passes["cpu"])
    assert "cpu-parallel-task-assigner" not in release.passes["cpu"]


def test_a_measured_program_is_not_measured_again(here: Here, messages: list[str]) -> None:
    assert any("1 of 1 (cpu)" in line for line in messages)
    heard: list[str] = []
    measuring.measure_release(here, TASKS, heard.append)
    assert heard == []


def test_a_compiler_that_ends_the_process_costs_that_program_alone(
    here: Here, messages: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert messages
    (task,) = TASKS
    broken = {**task, "file": "raw/cpu/broken.json.gz"}
    (tmp_path / "ends.py").write_text("import os\nos._exit(6)\n", encoding="utf-8")
    described = measuring.build_probe_task(task, {}, tmp_path)
    place = {"id": broken["file"], "file": str(tmp_path / "ends.py"), "module": ""}
    monkeypatch.setattr(measuring, "build_probe_task", lambda *_: {**described, **place})
    heard: list[str] = []
    measuring.measure_release(here, [broken], heard.append)
    assert heard[0] == "0.12.0.1: the compiler ended its process (exit status 6) at raw/cpu/broken.json.gz"
    assert measuring.load_result(here, broken) == {"failed": "the compiler ended its process (exit status 6)"}


@pytest.mark.parametrize(
    ("version", "reason"),
    [("nonsense", "'nonsense' is no version of JAX: one looks like 0.11.2"), ("0.12", None)],
)
def test_a_bad_version_is_named_and_the_others_are_compared(
    version: str,
    reason: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(arguments: str, _: str) -> Environment:
        message = f"there is no release {arguments} of JAX"
        raise ReleaseError(message)

    monkeypatch.setattr("releases.__main__.list_releases", lambda: ("0.12.0.1",))
    if reason is None:
        monkeypatch.setattr(pinned_environments, "make", refuse)
        reason = "there is no release 0.12 of JAX"
    for version_name in ("0.11.2", "0.12.0.1"):
        text = (ROOT / "docs/data/drift" / f"{version_name}.json").read_text(encoding="utf-8")
        (tmp_path / f"{version_name}.json").write_text(text, encoding="utf-8")
    arguments = ["--out", str(tmp_path), "--without-pages", "0.11.2", version, "0.12.0.1"]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert f"**{version} was not measured**: {reason}." in out
    assert "## JAX 0.11.2 to 0.12.0.1" in out


def test_the_newest_release_is_compared_with_the_one_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("releases.__main__.list_releases", lambda: ("0.12.0.1",))
    for version_name in ("0.10.2", "0.11.2", "0.12.0.1"):
        text = (ROOT / "docs/data/drift" / f"{version_name}.json").read_text(encoding="utf-8")
        (tmp_path / f"{version_name}.json").write_text(text, encoding="utf-8")
    assert main(["--newest", "--without-pages", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert re.findall(r"^## .*", output.out, re.MULTILINE) == ["## JAX 0.11.2 to 0.12.0.1"]
    assert "0.12.0.1: measured already" in output.err


def test_a_program_that_a_record_lacks_is_named_and_one_without_a_compiler_is_not(release: Release) -> None:
    both = measuring.list_tasks(["layer", "gelu"], ["cpu", "tpu-v5e"])
    assert [(task["program"], task["base"]) for task in list_lacking(release, {}, both)] == [("gelu", "cpu")]


def test_pages_alone_are_run_where_the_compiles_are_recorded(
    here: Here, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0.12.0.1.json").write_text(stamps.seal(write_release(release)), encoding="utf-8")
    disagreement = Disagreement("docs/fusion.md", 97, "check", "One kernel", "AssertionError")
    monkeypatch.setattr(pinned_environments, "make", lambda *_: here)
    monkeypatch.setattr(pages, "run_pages", lambda *_: ({"docs/fusion.md": {"check": 2}}, (disagreement,)))
    monkeypatch.delattr(measuring, "measure_release")
    assert main(["--out", str(tmp_path), "0.12.0.1"]) == 0
    (record,) = read_releases(tmp_path)
    assert record == replace(release, pages={"docs/fusion.md": {"check": 2}}, disagreements=(disagreement,))


def test_a_target_that_does_not_exist_is_refused_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--targets", "tpu-v9", "0.12.0.1"])
    assert "no target is named tpu-v9; the targets are cpu, a100" in capsys.readouterr().err


def test_the_log_of_another_module_names_no_pass_of_ours(tmp_path: Path) -> None:
    log = """\
I1120 20:42:12.327267 4713 hlo_pass_pipeline.cc:342] Running HLO pass pipeline on module jit_layer: simplification
I1120 20:42:12.327289 4713 hlo_pass_pipeline.cc:174]   HLO pass algsimp
I1120 20:42:12.327289 4713 hlo_pass_pipeline.cc:169] HLO pass: algsimp time: 7 us (7 us) (cumulative: 7 us, max: 7 us)
I1120 20:42:12.327289 4713 hlo_pass_pipeline.cc:342] Running HLO pass pipeline on module wrapped_triton: inner
I1120 20:42:12.327289 4713 hlo_pass_pipeline.cc:174]   HLO pass layout-normalization"""
    (tmp_path / "log").write_text(log, encoding="utf-8")
    runs, seconds = read_log(tmp_path / "log", "jit_layer")
    assert [(run.pipeline, run.name) for run in runs] == [("simplification", "algsimp")]
    assert seconds == {"algsimp": 7e-6}


def test_public_names_are_those_that_a_module_defines_or_gives_on() -> None:
    source = "import os\nfrom a import b as b, c\nfrom d import (e as f)\ndef g(): ...\nh = 1\n_i = 2\n"
    assert list(public_names.list_defined(ast.parse(source).body)) == ["b", "f", "g", "h", "_i"]
    exported = public_names.list_public_names()
    assert {"jit", "grad", "ShapeDtypeStruct"} <= set(exported["jax"])
    assert {"dot", "cumsum"} <= set(exported["jax.numpy"])
    assert not {"xla_computation", "partial", "np"} & set(exported["jax"])


def test_failed_checks_of_a_page_are_reported_with_line_and_sentence(tmp_path: Path) -> None:
    page = ROOT / "docs" / "planted.md"
    text = '# Planted\n\n```python check="Two and two are five"\nassert 2 + 2 == 5\n```\n\nIt is `= 1 // 0`.\n'
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / page.name
    path.write_text(text, encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("scripts", "snippets", "docs/overrides"):
        (tmp_path / name).symlink_to(ROOT / name)
    run = f"""
import json, sys
sys.path[:0] = [{str(ROOT / "scripts")!r}, {str(ROOT / "snippets")!r}]
import os
os.chdir({str(tmp_path)!r})
from pathlib import Path
from releases import page_probe
page_probe.settle()
print(json.dumps(page_probe.probe_page(Path({str(path)!r}), "docs/planted.md", Path({str(tmp_path)!r}))))
"""
    ended = subprocess.run([sys.executable, "-c", run], check=True, capture_output=True, text=True)
    result = json.loads(ended.stdout.splitlines()[-1])
    assert (result["pieces"], [failure[1] for failure in result["failed"]]) == (
        {"check": 1, "value": 1},
        ["check", "value"],
    ), result
    counts, failed = pages.gather({"docs/planted.md": result})
    assert counts == {"docs/planted.md": {"check": 1, "value": 1}}
    assert [(failure.line, failure.what, failure.sentence) for failure in failed] == [
        (4, "check", "Two and two are five"),
        (7, "value", "1 // 0"),
    ]
    assert failed[0].error.startswith("AssertionError")


def test_an_error_of_a_page_names_no_folder_of_the_machine() -> None:
    error = "ImportError: cannot import name 'psum' from 'jax.lax' (/home/me/lib/site-packages/jax/lax.py)"
    _, failed = pages.gather({"docs/planted.md": {"pieces": {}, "failed": [[3, "block", "import jax", error]]}})
    assert [failure.error for failure in failed] == [
        "ImportError: cannot import name 'psum' from 'jax.lax' (jax/lax.py)"
    ]


def test_a_false_sentence_is_reported_by_page_and_line(release: Release) -> None:
    old = Disagreement("docs/fusion.md", 10, "check", "It always was false", "AssertionError")
    new = Disagreement("docs/fusion.md", 97, "check", "One kernel", "AssertionError: left was 2, right was 1")
    step = Drift(
        replace(release, disagreements=(old,)),
        replace(release, jax="0.13.0", pages={"docs/fusion.md": {"check": 2}}, disagreements=(old, new)),
    )
    text = change_summary.describe_step(step)
    assert "### Sentences on the site that became false: 1" in text
    assert "`docs/fusion.md:97` | One kernel | AssertionError: left was 2, right was 1 |" in text
    assert "It always was false" not in text
