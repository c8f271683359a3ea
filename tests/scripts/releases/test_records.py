"""The newest release record: the pinned compilers and the expected outputs."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authoring import expected_outputs
from releases import measuring, pinned_environments
from releases.__main__ import main
from releases.compacting import name_program
from releases.record_update import join, list_lacking
from xla_inspect.releases import ReleaseError, read_releases
from xla_inspect.targets import find_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.releases import Release, ReleaseOutcome

ROOT = Path(__file__).resolve().parents[3]
# Releases are measured without the compiler for AMD GPUs.
FILES = [path for path in sorted(expected_outputs.EXPECTED.glob("*/*.txt")) if find_entry(path.stem).platform != "rocm"]


@cache
def newest() -> Release:
    return read_releases(ROOT / "docs/data/drift")[-1]


def read_expected(path: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the records' name of each program in a file of tests/expected, with the lines of its parts by title."""
    program, part = path.parent.name, ""
    name, parts = program, dict[str, list[str]]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            if parts:
                yield name, parts
            name, parts = f"{program}: {line[1:-1]}", {}
        elif line and not line.startswith(" "):
            part = line
            parts[part] = []
        elif line:
            parts[part].append(line.strip())
    yield name, parts


def count_passes(lines: list[str]) -> dict[str, int]:
    """Return how often each pass changed a module, from lines such as `simplification: cse, algsimp x 2`."""
    counts: Counter[str] = Counter()
    for line in lines:
        for part in line.partition(": ")[2].split(", "):
            name, _, times = part.partition(" x ")
            counts[name] += int(times or 1)
    return dict(counts)


def differ(parts: dict[str, list[str]], outcome: ReleaseOutcome | None) -> bool:
    """Return whether a record's outcome differs from the expected one."""
    if outcome is None or "refused" in parts or outcome.failed:
        return outcome is None or ("refused" in parts) != bool(outcome.failed)
    numbers = [line.partition(": ") for line in parts["memory in bytes"]]
    memory = {name: int(number.replace(",", "")) for name, _, number in numbers}
    memory_sizes = {name: outcome.memory.get(name, 0) for name in memory}
    return (memory, count_passes(parts["passes that changed it"])) != (memory_sizes, dict(outcome.changed))


def test_the_newest_record_is_of_exactly_the_compilers_that_are_pinned() -> None:
    pinned = pinned_environments.read_pins()
    advice = f"`scripts/drift --complete {pinned['jax']}` measures what other compilers made"
    assert dict(newest().versions) == pinned, advice


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_newest_record_says_what_is_expected(path: Path) -> None:
    """The record, from another environment, and the expected outputs have the same memory and pass counts."""
    outcomes = {name: program.outcomes.get(path.stem) for name, program in newest().programs.items()}
    wrong = [name for name, parts in read_expected(path) if differ(parts, outcomes.get(name))]
    again = f"`scripts/drift --again --programs {path.parent.name}` with each release measures the program anew"
    assert wrong == [], again


def test_a_record_of_another_libtpu_lacks_what_tpus_are_concerned_with_alone() -> None:
    tasks = measuring.list_tasks(["layer"], ["cpu", "h100", "tpu-v5e"])
    old = replace(newest(), versions={**newest().versions, "libtpu": "0.0.1"})
    lacking = [list_lacking(record, pinned_environments.read_pins(), tasks) for record in (newest(), old)]
    assert [[task["base"] for task in record] for record in lacking] == [[], ["tpu-v5e"]]


def test_a_record_without_the_code_of_a_program_lacks_that_where_code_is_compared() -> None:
    tasks = measuring.list_tasks(["layer"], ["cpu", "h100", "tpu-v5e"])
    layer = newest().programs["layer"]
    outcomes = {base: replace(outcome, code=None) for base, outcome in layer.outcomes.items()}
    old = replace(newest(), programs={"layer": replace(layer, outcomes=outcomes)})
    lacking = list_lacking(old, pinned_environments.read_pins(), tasks)
    assert [task["base"] for task in lacking] == list(measuring.CODED)


def test_a_new_measurement_replaces_only_its_own_entry() -> None:
    tasks = measuring.list_tasks(["layer"], ["cpu", "tpu-v5e"])
    latest = newest()
    layer = latest.programs["layer"]
    anew = replace(layer.outcomes["tpu-v5e"], instructions=7)
    part = replace(layer, stablehlo={}, outcomes={"tpu-v5e": anew})
    measured = replace(latest, passes={"tpu": ("one",)}, programs={"layer": part}, names={"jax": ("jit",)})
    joined = join(latest, measured, tasks)
    assert list(joined.programs) == ["layer"]
    assert joined.programs["layer"].outcomes == {"cpu": layer.outcomes["cpu"], "tpu-v5e": anew}
    assert joined.programs["layer"].stablehlo == {target: layer.stablehlo[target] for target in ("cpu", "tpu-v5e")}
    assert (joined.passes["tpu"], joined.passes["cpu"]) == (("one",), latest.passes["cpu"])
    assert (joined.names, joined.pages) == ({"jax": ("jit",)}, latest.pages)
    whole = join(latest, measured, measuring.list_tasks(["layer", "gelu"], ["tpu-v5e"]))
    assert whole.passes["tpu"] == tuple(dict.fromkeys((*latest.passes["tpu"], "one")))


def test_the_pinned_release_is_installed_with_exactly_the_pins_and_another_with_what_belongs_to_it() -> None:
    pinned = pinned_environments.read_pins()
    environments = pinned_environments.list_wanted(pinned["jax"])
    exact = {
        name: version
        for environment in environments.values()
        for name, _, version in (item.partition("==") for item in environment)
    }
    assert exact == pinned
    assert "jax[tpu]==0.11.2" in pinned_environments.list_wanted("0.11.2")["tpu"]
    assert f"libtpu=={pinned['libtpu']}" not in str(pinned_environments.list_wanted(pinned["jax"], "0.0.50.1"))
    with pytest.raises(ReleaseError, match="another libtpu is tried with the JAX that is pinned alone"):
        pinned_environments.list_wanted("0.11.2", "0.0.50.1")


def test_two_libtpu_under_the_pinned_release_are_compared_without_the_other_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned, pinned_release = pinned_environments.read_pins(), max((ROOT / "docs/data/drift/libtpu").glob("*.json"))
    (tmp_path / "libtpu").mkdir()
    shutil.copy(ROOT / "docs/data/drift" / f"{pinned['jax']}.json", tmp_path)
    shutil.copy(pinned_release, tmp_path / "libtpu")
    assert main(["--out", str(tmp_path), "--without-pages", "--libtpu", pinned_release.stem]) == 0
    output = capsys.readouterr()
    assert re.findall(r"^## .*", output.out, re.MULTILINE) == [f"## libtpu {pinned_release.stem} to {pinned['libtpu']}"]
    assert "TPU v5e: " in output.out
    assert "H100: " not in output.out
    assert f"{pinned['jax']} with libtpu {pinned_release.stem}: measured already" in output.err


def test_each_release_is_compiled_for_a_tpu_v4_as_its_users_have_it() -> None:
    """Meshes of v4 are of whole chips: a release measured in the other mode refuses the data-parallel step."""
    every = read_releases(ROOT / "docs/data/drift")
    refused = [release.jax for release in every if release.programs["gallery: parallel"].outcomes["tpu-v4"].failed]
    assert refused == []
    task = next(task for task in measuring.list_tasks(["gallery"], ["tpu-v4"]) if task["member"] == "parallel")
    assert name_program(task) == "gallery: parallel"
    assert re.fullmatch(r"tpu-v4:\d+x\d+x\d+", task["target"])
