"""An environment is complete or absent, created once, and evicted for space."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xla_inspect.releases import (
    ReleaseError,
    environment_store,
    environments,
    interpreters,
    list_installed,
    make_environment,
    measure_store,
    uv_commands,
)

# It makes what uv makes, slowly where the test says so, and refuses what the test says.
FAKE_UV = """\
import json, os, pathlib, sys, time
words, here = sys.argv[1:], pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(" ".join(words) + "\\n")
if words[0] == "venv":
    (pathlib.Path(words[-1]) / "bin").mkdir(parents=True, exist_ok=True)
    (pathlib.Path(words[-1]) / "bin/python").write_text("")
elif words[:2] == ["pip", "install"]:
    time.sleep(float((here / "slow").read_text()) if (here / "slow").exists() else 0)
    refused = json.loads((here / "refused").read_text()) if (here / "refused").exists() else []
    if refused:
        (here / "refused").write_text(json.dumps(refused[1:]))
    if refused and refused[0]:
        sys.exit(refused[0])
elif words[:2] == ["pip", "list"]:
    print(json.dumps([{"name": "jax", "version": "0.9.2"}, {"name": "other", "version": "1"}]))
"""

CPU = {"cpu": ["jax==0.9.2"]}


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a fake uv that installs nothing."""
    folder = tmp_path / "uv"
    folder.mkdir()
    (folder / "fake.py").write_text(FAKE_UV, encoding="utf-8")
    script = folder / "uv"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/fake.py" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("UV", str(script))
    pythons = [interpreters.Interpreter((3, minor), Path(f"/usr/bin/python3.{minor}")) for minor in (12, 11)]
    monkeypatch.setattr(environments, "list_interpreters", lambda: tuple(pythons))
    return folder


def count(uv: Path, what: str) -> int:
    calls = uv / "calls"
    return sum(line.startswith(what) for line in calls.read_text().splitlines()) if calls.exists() else 0


def list_names(store: Path) -> list[str]:
    return sorted(path.name for path in store.iterdir() if path.is_dir())


def test_an_environment_is_created_once_and_reused(uv: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    heard: list[str] = []
    environment = make_environment("0.9.2", CPU, store=store, say=heard.append)
    again = make_environment("0.9.2", CPU, store=store, say=heard.append)
    assert environment == again
    assert (environment.versions, environment.missing) == ({"jax": "0.9.2"}, {})
    assert (count(uv, "venv"), heard) == (1, ["installing JAX 0.9.2"])
    assert environment.folder.name.startswith("0.9.2-cpu-")
    assert make_environment("0.9.2", {"cpu": ["jax==0.9.2", "flax"]}, store=store).folder != environment.folder


def test_concurrent_requests_create_an_environment_once(uv: Path, tmp_path: Path) -> None:
    (uv / "slow").write_text("0.3")
    with ThreadPoolExecutor(4) as pool:
        environments = list(pool.map(lambda _: make_environment("0.9.2", CPU, store=tmp_path / "store"), range(4)))
    assert {environment.folder for environment in environments} == {environments[0].folder}
    assert count(uv, "pip install") == 1


def test_a_process_killed_during_creation_leaves_no_environment(uv: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (uv / "slow").write_text("60")
    program = f"""
        from pathlib import Path
        from xla_inspect.releases import environments, interpreters
        environments.list_interpreters = lambda: (interpreters.Interpreter((3, 12), Path("/usr/bin/python3")),)
        environments.make_environment("0.9.2", {CPU!r}, store=Path({str(store)!r}))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)])
    deadline = time.monotonic() + 60
    while not count(uv, "pip install") and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert list_installed(store) == ()
    assert measure_store(store) == 0
    (uv / "slow").unlink()
    other = make_environment("0.9.1", {"cpu": ["jax==0.9.1"]}, store=store)
    # What the dead one left is gone.
    assert list_names(store) == [other.folder.name]


def test_an_interrupt_leaves_no_half_environment(uv: Path, tmp_path: Path) -> None:
    (uv / "slow").write_text("60")
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    with pytest.raises(KeyboardInterrupt):
        make_environment("0.9.2", CPU, store=tmp_path / "store")
    assert list_names(tmp_path / "store") == []


def test_another_python_is_tried_if_a_release_has_no_wheels_for_the_first(uv: Path, tmp_path: Path) -> None:
    refusal = "Because jaxlib==0.4.13 has no wheels with a matching Python ABI tag (e.g., `cp312`) and you require"
    (uv / "refused").write_text(json.dumps([refusal, ""]))
    make_environment("0.4.13", {"cpu": ["jax==0.4.13"]}, store=tmp_path / "store")
    assert count(uv, "venv") == 2
    (uv / "refused").write_text(json.dumps([refusal, refusal]))
    with pytest.raises(
        ReleaseError, match=r"JAX 0\.4\.12 has no wheels for a Python of this machine \(Python 3\.12, Python 3\.11\)"
    ):
        make_environment("0.4.12", {"cpu": ["jax==0.4.12"]}, store=tmp_path / "store")
    assert len(list_names(tmp_path / "store")) == 1


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        ("Because there is no version of jax==0.99 and you require", "there is no release 0.99 of JAX"),
        ("error sending request for url (https://somewhere/jax): dns error", "the package index does not answer"),
        ("failed to write to the file: No space left on device (os error 28)", "the disk is full"),
        ("it fails at `https://somewhere/simple/jax/`", "it fails at the registry"),
    ],
)
def test_a_release_that_does_not_install_is_rejected_with_a_message(
    uv: Path, tmp_path: Path, refusal: str, message: str
) -> None:
    (uv / "refused").write_text(json.dumps([refusal]))
    with pytest.raises(ReleaseError, match=message):
        make_environment("0.99", {"cpu": ["jax==0.99"]}, store=tmp_path / "store")
    assert list_names(tmp_path / "store") == []


def test_an_optional_target_that_does_not_install_is_missing_with_the_reason(uv: Path, tmp_path: Path) -> None:
    (uv / "refused").write_text(json.dumps(["", "no version of libtpu"]))
    environment = make_environment("0.9.2", {**CPU, "tpu": ["jax[tpu]==0.9.2"]}, store=tmp_path / "store")
    assert environment.missing == {"tpu": "no version of libtpu"}


@pytest.mark.usefixtures("uv")
def test_the_least_recently_used_environments_are_evicted_unless_in_use(tmp_path: Path) -> None:
    store = tmp_path / "store"
    environments = [make_environment(f"0.9.{number}", CPU, store=store) for number in range(4)]
    for age, environment in enumerate(environments):
        (environment.folder / "env/large").write_bytes(bytes(1000))
        os.utime(environment.folder / "used", (age, age))
    assert measure_store(store) > 4000
    with environment_store.held(environments[0].folder):
        environment_store.evict_environments(store, 5 * measure_store(store) // 8)
    assert list_names(store) == sorted(environments[at].folder.name for at in (0, 2, 3))


def test_an_incomplete_environment_is_removed_unless_locked(tmp_path: Path) -> None:
    for name in ("0.9.1-just-begun", "0.9.2-made-now", "0.9.3-dead"):
        (tmp_path / name).mkdir()
    (tmp_path / "0.9.3-dead/used").touch()
    with environment_store.held(tmp_path / "0.9.2-made-now"):
        environment_store.evict_environments(tmp_path)
    assert list_names(tmp_path) == ["0.9.1-just-begun", "0.9.2-made-now"]


def test_a_missing_uv_is_reported_with_the_way_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(uv_commands.Path, "home", lambda: tmp_path)
    with pytest.raises(ReleaseError, match="there is none on the PATH\nget it with `pip install uv`"):
        make_environment("0.9.2", CPU, store=tmp_path / "store")


def test_a_process_of_a_release_never_loads_another_releases_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/elsewhere/libtpu.so")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert not {"TPU_LIBRARY_PATH", "PYTHONPATH", "JAX_PLATFORMS"} & environments.clean_environment().keys()
    assert "PATH" in environments.clean_environment()
