"""`scripts/serve` and `scripts/test` find or fetch a working uv, or explain why they cannot."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from common import ROOT

SYSTEM = "/usr/bin:/bin"
FIND = 'set -euo pipefail; . scripts/common.sh; find_uv && echo "$UV"'
BROKEN = "#!/bin/sh\necho 'uv: command not found' >&2\nexit 127\n"
# A Python as some systems package it: no ensurepip; pip is there or not. What pip is asked to install it only notes.
BARE_PYTHON = """#!/bin/sh
case "$*" in
  *ensurepip*) exit 1 ;;
  *"pip --version"*) exit {pip} ;;
  *"pip install"*)
    echo "$@" >asked
    mkdir -p .uv/bin
    printf '#!/bin/sh\\n' >.uv/bin/uv
    chmod +x .uv/bin/uv ;;
esac
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="on Windows the commands are uv run mkdocs and uv run pytest")


def make_program(path: Path, text: str) -> None:
    """Write a program that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def run_bash(folder: Path, path: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run bash in a folder, with a PATH and an empty home."""
    environment = {name: value for name, value in os.environ.items() if name not in {"UV", "VIRTUAL_ENV"}}
    environment |= {"PATH": path, "HOME": str(folder / "home")}
    return subprocess.run(
        ("bash", *command), cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=120
    )


def without_uv(path: str) -> bool:
    """Return whether no folder of a PATH contains uv."""
    return shutil.which("uv", path=path) is None


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the scripts and the pins of a fresh clone."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", ".python-version"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def uv(tmp_path: Path) -> str:
    """The path of a working uv, alone in its folder."""
    # A shim would look for uv on PATH again; the program behind it says where it is.
    command = ["uv", "run", "--no-sync", "printenv", "UV"]
    path = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    make_program(tmp_path / "good" / "uv", f'#!/bin/sh\nexec "{path}" "$@"\n')
    return str(tmp_path / "good" / "uv")


def test_a_uv_that_only_says_command_not_found_is_passed_over(clone: Path, uv: str) -> None:
    make_program(clone / "shims" / "uv", BROKEN)
    bash = run_bash(clone, f"{clone}/shims:{Path(uv).parent}:{SYSTEM}", "-c", FIND)
    assert bash.stdout == f"{uv}\n"


def test_a_uv_older_than_the_project_asks_for_is_passed_over(clone: Path, uv: str) -> None:
    text = (clone / "pyproject.toml").read_text(encoding="utf-8")
    newer = text.replace('required-version = ">=0.9"', 'required-version = ">=99"')
    (clone / "pyproject.toml").write_text(newer, encoding="utf-8")
    bash = run_bash(clone, f"{Path(uv).parent}:{SYSTEM}", "-c", FIND)
    assert (bash.returncode, bash.stdout) == (1, "")


@pytest.mark.long("the package is installed into environments of its own")
@pytest.mark.skipif(not without_uv(SYSTEM), reason="the system's own folders hold a uv")
def test_without_uv_one_is_fetched_into_a_private_folder_and_found_again(clone: Path) -> None:
    make_program(clone / "shims" / "uv", BROKEN)
    make_program(clone / "shims" / "python3", BROKEN)
    make_program(clone / "python" / "python3", f'#!/bin/sh\nexec "{Path(sys.base_prefix, "bin", "python3")}" "$@"\n')
    path = f"{clone}/shims:{clone}/python:{SYSTEM}"
    bash = run_bash(clone, path, "-c", f"{FIND} || {{ fetch_uv; .uv/bin/uv --version; }}")
    assert bash.stderr == ""
    assert "fetching uv" in bash.stdout
    assert bash.stdout.splitlines()[-1].startswith("uv 0.13.8")
    assert run_bash(clone, path, "-c", FIND).stdout == f"{clone}/.uv/bin/uv\n"


@pytest.mark.skipif(not without_uv(SYSTEM), reason="the system's own folders hold a uv")
def test_a_python_without_venv_fetches_uv_through_pip(clone: Path) -> None:
    make_program(clone / "bare" / "python3", BARE_PYTHON.format(pip=0))
    bash = run_bash(clone, f"{clone}/bare:{SYSTEM}", "-c", "set -euo pipefail; . scripts/common.sh; fetch_uv")
    assert (bash.returncode, bash.stderr) == (0, "")
    arguments = (clone / "asked").read_text(encoding="utf-8").split()
    assert arguments[:3] == ["-m", "pip", "install"]
    assert arguments[-5:] == ["--require-hashes", "--requirement", "scripts/uv.txt", "--target", ".uv"]


@pytest.mark.long("the package is installed into environments of its own")
@pytest.mark.skipif(not without_uv(SYSTEM), reason="the system's own folders hold a uv")
def test_a_uv_of_another_content_is_refused(clone: Path) -> None:
    pinned = clone / "scripts" / "uv.txt"
    pinned.write_text(re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", pinned.read_text(encoding="utf-8")))
    make_program(clone / "python" / "python3", f'#!/bin/sh\nexec "{Path(sys.base_prefix, "bin", "python3")}" "$@"\n')
    bash = run_bash(clone, f"{clone}/python:{SYSTEM}", "-c", "set -euo pipefail; . scripts/common.sh; fetch_uv")
    assert bash.returncode == 1
    assert "DO NOT MATCH THE HASHES" in bash.stderr
    assert not (clone / ".uv" / "bin" / "uv").exists()


def test_publishing_uses_only_the_fetched_uv(clone: Path) -> None:
    make_program(clone / "bare" / "uv", "#!/bin/sh\necho the one on PATH\n")
    make_program(
        clone / "bare" / "python3", BARE_PYTHON.format(pip=0).replace("#!/bin/sh\\n", "#!/bin/sh\\necho $1\\n")
    )
    (clone / "dist").mkdir()
    (clone / "dist" / "a.whl").touch()
    bash = run_bash(clone, f"{clone}/bare:{SYSTEM}", "scripts/ci/package", "publish")
    assert (bash.returncode, bash.stderr) == (0, "")
    assert bash.stdout.splitlines()[-1] == "publish"
    assert "the one on PATH" not in bash.stdout


def test_a_tag_is_not_built_while_pages_install_from_a_clone(clone: Path) -> None:
    uv = "#!/bin/sh\ncase $1 in version) echo 0.2.0 ;; build) touch built ;; esac\n"
    make_program(clone / "bare" / "uv", uv)
    make_program(clone / "bare" / "git", "#!/bin/sh\n")
    settings = clone / "scripts" / "inside_xla" / "publication.toml"
    text = settings.read_text(encoding="utf-8")
    for published in (False, True):
        line = f"published = {str(published).lower()}"
        settings.write_text(re.sub(r"(?m)^published = .*$", line, text), encoding="utf-8")
        bash = run_bash(clone, f"{clone}/bare:{SYSTEM}", "scripts/ci/package", "build", "v0.2.0")
        assert ("has published = false" in bash.stderr) is not published
        assert (bash.returncode == 0, (clone / "built").exists()) == (published, published), bash.stderr


@pytest.mark.skipif(not without_uv(SYSTEM), reason="the system's own folders hold a uv")
def test_a_python_with_neither_venv_nor_pip_says_what_to_install(clone: Path) -> None:
    make_program(clone / "bare" / "python3", BARE_PYTHON.format(pip=1))
    bash = run_bash(clone, f"{clone}/bare:{SYSTEM}", "scripts/serve")
    assert bash.returncode == 1
    assert "apt-get install python3-venv" in bash.stderr


def test_a_port_that_is_taken_is_named_before_anything_is_built(clone: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        bash = run_bash(clone, SYSTEM, "scripts/serve", "--port", str(port))
    assert (bash.returncode, bash.stdout) == (1, "")
    assert bash.stderr == f"serve: port {port} is taken. Stop what uses it, or name another with --port.\n"


@pytest.mark.parametrize("port", ["", "http", "0", "65536", "99999", "99999999999999999999"])
def test_a_port_that_is_none_is_refused_before_anything_is_built(clone: Path, port: str) -> None:
    bash = run_bash(clone, SYSTEM, "scripts/serve", f"--port={port}")
    assert (bash.returncode, bash.stdout) == (1, "")
    assert bash.stderr == f"serve: --port needs a number from 1 to 65535, not '{port}'.\n"


def test_an_unfetchable_python_is_reported_with_a_remedy(clone: Path) -> None:
    make_program(clone / "good" / "uv", '#!/bin/sh\n[ "$1 $2" = "python dir" ]\n')
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = str(server.getsockname()[1])
    bash = run_bash(clone, f"{clone}/good:{SYSTEM}", "scripts/serve", "--port", free)
    assert bash.returncode == 1
    assert bash.stderr.splitlines()[-1] == (
        "serve: uv found no Python 3.12 here and could not fetch one: its message stands above. "
        "Install Python 3.12 (Debian: apt-get install python3.12) or let uv reach github.com, from which it "
        "fetches it, and try again."
    )


def test_a_page_that_does_not_exist_is_named(clone: Path) -> None:
    bash = run_bash(clone, SYSTEM, "scripts/test", "docs/no-such-page.md")
    assert (bash.returncode, bash.stdout) == (1, "")
    assert bash.stderr == "test: no file docs/no-such-page.md. A page is named by its path, such as docs/pipeline.md.\n"


@pytest.mark.parametrize("script", ["serve", "test", "maintaining/pin", "ci/newest"])
def test_help_needs_nothing_installed(clone: Path, script: str) -> None:
    bash = run_bash(clone, SYSTEM, f"scripts/{script}", "--help")
    assert (bash.returncode, bash.stderr) == (0, "")
    assert f"scripts/{script}" in bash.stdout


@pytest.mark.parametrize("lines", [1, 100_000])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_script_prints_no_error_if_the_reader_of_its_output_ends(lines: int, unbuffered: str) -> None:
    reader, output = os.pipe()
    os.close(reader)
    code = f"import common\nfor line in range({lines}): print(line)"
    # Without a buffer, the first `print` fails; with one, Python fails to write the rest when it ends.
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    os.close(output)
    assert process.stderr == ""
