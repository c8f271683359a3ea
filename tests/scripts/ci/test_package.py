"""The wheel contains only the package, and works in an empty environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from email import message_from_bytes
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from common import ROOT
from pages.your_code_page import START, list_commands
from xla_inspect.releases import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("the package is installed into environments of its own")

PACKAGE = ROOT / "snippets" / "xla_inspect"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
MODEL, USE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
LINES = [line.partition("#")[0].split() for line in README.splitlines()]
TYPED = [words for words in LINES if words[:1] == ["xla-inspect"] or words[:2] == ["python", "-m"]]
"""The commands that the README shows."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `uv build` makes."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["uv", "build", "--wheel", "--quiet", f"--python={sys.executable}", f"--out-dir={folder}", str(ROOT)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel and its requirements, without its extras."""
    place = tmp_path_factory.mktemp("user") / "env"
    subprocess.run(["uv", "venv", "--quiet", f"--python={sys.executable}", str(place)], check=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    # In the project, whose constraints choose the versions that are tested everywhere else.
    command = ["uv", "pip", "install", "--quiet", f"--python={programs / 'python'}", str(wheel)]
    subprocess.run(command, check=True, cwd=ROOT)
    return programs


@pytest.fixture
def run(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: ANN201 - a function
    """A function that runs a command of that environment in a user's project, which contains `model.py` alone."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "pyproject.toml").write_text("", encoding="utf-8")
    (project / "model.py").write_text(MODEL, encoding="utf-8")
    unset = {"XLA_INSPECT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "PYTHONPATH"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    monkeypatch.chdir(project)

    def runs(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(installed / program), *arguments]
        return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)

    return runs


def dump_layer(python: Path, folder: Path) -> None:
    """Dump what XLA makes of the README's model, as anybody would, into a folder that is made."""
    code = "import jax, model; jax.jit(model.layer).lower(*model.EXAMPLE).compile()"
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.*"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([python, "-c", code], cwd=folder.parent, env=environment, check=True)


def list_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    # Beside it are modules that pytest and Python import whenever they start.
    beside = {"pytest_xla_inspect.py", "quiet_rocm_plugin.py", "quiet_rocm_plugin.pth"}
    assert names == {path.relative_to(PACKAGE.parent).as_posix() for path in files} | beside


def test_the_wheel_holds_the_licence(wheel: Path) -> None:
    archive = ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
    assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def test_the_package_description_starts_with_installation_and_lists_extras(wheel: Path) -> None:
    archive = ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
    metadata = message_from_bytes(archive.read(name))
    assert metadata.get_payload() == README
    assert README.split("```")[1].startswith("sh\npip install ")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert sorted(metadata.get_all("Provides-Extra", [])) == sorted(extras)
    assert sorted(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == sorted(extras)


def test_the_installed_wheel_imports_without_jax_or_numpy(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    command = ["uv", "pip", "install", "--quiet", "--no-deps", f"--python={sys.executable}", f"--target={target}"]
    subprocess.run([*command, str(wheel)], check=True)
    # -S leaves out the environment's own packages, JAX among them.
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import xla_inspect; print(xla_inspect.__file__)"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=False, capture_output=True, text=True)
    assert (result.stderr, result.stdout.strip()) == ("", str(target / "xla_inspect" / "__init__.py"))


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_each_command_of_its_readme_runs_and_leaves_the_folder_alone(
    run,  # noqa: ANN001
    words: list[str],
    installed: Path,
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    if "dump" in " ".join(words).replace("hlo_dump", ""):
        dump_layer(installed / "python", project / "dump")
    before = list_files(project)
    result = run(*words)
    if "tpu-v5e" in words:
        assert (result.returncode, result.stdout) == (3, "")
        assert "run `pip install 'xla-inspect[tpu]'`" in result.stderr
    else:
        expected = 1 if "diff" in words else 0
        assert (result.returncode, "uv " in result.stdout + result.stderr) == (expected, False), result.stderr
    output_files = ["layer.html"] if "report" in words else []
    assert list_files(project) == sorted([*output_files, *before])


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems keep caches elsewhere, see tests/xla_inspect/test_folders.py"
)
def test_captures_go_where_the_users_system_keeps_caches(run, tmp_path: Path) -> None:  # noqa: ANN001
    output = run("python", "-c", USE).stdout
    assert output.startswith("tanh on CPU needs 512 B per device; the available memory depends on the machine.")
    assert "135 passes ran, 2 changed the module\nHloModule jit_tanh" in output
    # The question's, and the one with the passes.
    home_files = list_files(tmp_path / "home")
    folder, names = ".cache/xla_inspect/", sorted(re.sub(r"\w{64}", "KEY", name) for name in home_files)
    assert names == [f"{folder}KEY.gz", f"{folder}KEY.gz", f"{folder}code-KEY.txt"]


def test_a_missing_disassembler_is_reported_with_the_install_command(run) -> None:  # noqa: ANN001
    result = run("xla-inspect", "show", "model.py:layer", "--stage", "code")
    assert (result.returncode, "(llvm)" in result.stdout, "(asm)" in result.stdout) == (0, True, False)
    advice = "no assembly: capstone and pyelftools not installed; run `pip install 'xla-inspect[asm]'`"
    assert result.stderr.endswith(f"xla-inspect: {advice}\n")
    assert (
        f"cpu has no assembly: {advice.partition(': ')[2]}\n" in run("xla-inspect", "report", "model.py:layer").stdout
    )


def test_missing_exercises_are_reported_and_others_are_marked(run) -> None:  # noqa: ANN001
    result = run("python", "-m", "xla_inspect.main", "--check")
    assert (result.returncode, result.stdout) == (2, "")
    assert "there are no exercises in practice" in result.stderr
    assert result.stderr.endswith("or name their folder with --exercises\n")
    exercises = str(ROOT / "snippets" / "practice")
    result = run("python", "-m", "xla_inspect.main", "--check", "hlo/donate", "--exercises", exercises)
    assert (result.returncode, "1 exercise: 1 not yet written." in result.stdout) == (3, True)
    command = f"python -m xla_inspect.main --check hlo/donate --exercises {shlex.quote(exercises)}"
    assert command in " ".join(result.stdout.split())


@pytest.mark.skipif(os.name == "nt", reason="the commands are those of a shell")
def test_the_first_commands_of_your_code_work_in_an_empty_environment(tmp_path: Path) -> None:
    """Here, `pip` runs `uv pip`, which takes the packages from uv's cache instead of downloading them again."""
    place = tmp_path / "env"
    subprocess.run(["uv", "venv", "--quiet", f"--python={sys.executable}", str(place)], check=True)
    pip = place / "bin" / "pip"
    pip.write_text('#!/bin/sh\nexec uv pip "$@"\n', encoding="utf-8")
    pip.chmod(0o755)
    (tmp_path / "inside-xla").symlink_to(ROOT)
    (tmp_path / "model.py").write_text(START, encoding="utf-8")
    environment = clean_environment() | {"PATH": f"{pip.parent}:{os.environ['PATH']}", "VIRTUAL_ENV": str(place)}
    commands = list_commands("h100", "all")
    assert commands[0].startswith("pip install ")
    for command in commands:
        result = subprocess.run(["sh", "-c", command], env=environment, cwd=tmp_path, check=False, capture_output=True)
        assert result.returncode == 0, result.stderr.decode()
    assert (tmp_path / "layernorm.html").is_file()


def test_a_type_checker_sees_the_types_of_the_package(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(
        "from xla_inspect import capture\ntext: str = capture(abs, 1.0, target='cpu').after\nnumber: int = text\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={installed / 'python'}", "--cache-dir"]
    result = subprocess.run([*command, os.devnull, file], cwd=tmp_path, check=False, capture_output=True, text=True)
    [error, summary] = result.stdout.splitlines()
    assert error.startswith('user.py:3: error: Incompatible types in assignment (expression has type "str"')
    assert summary.startswith("Found 1 error in 1 file")


def test_the_plugin_works_in_an_environment_with_the_wheel_and_pytest(installed: Path, tmp_path: Path) -> None:
    """pytest imports the packages of an installed plugin with a loader of its own."""
    python = str(installed / "python")
    subprocess.run(["uv", "pip", "install", "--quiet", f"--python={python}", "pytest"], check=True, cwd=ROOT)
    (tmp_path / "test_user.py").write_text(
        "from xla_inspect.subject import Request\n\ndef test_user(hlo):\n    assert Request\n", encoding="utf-8"
    )
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_user.py"]
    result = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert "1 passed" in result.stdout, result.stdout + result.stderr


def test_help_imports_no_jax_and_nothing_that_is_heavy() -> None:
    code = "import sys; from xla_inspect.commands.command_line import build_parser; build_parser(); print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    heavy = {"jax", "numpy", "capstone", "elftools", "pygments", "xla_inspect.report", "xla_inspect.practice"}
    assert heavy & set(names) == set()


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("release", ["0.10.2", "0.11.2"])
def test_it_works_with_an_installed_older_jax(release: str, wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "env"
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    subprocess.run(["uv", "venv", "--quiet", f"--python={sys.executable}", str(place)], check=True, cwd=tmp_path)
    install = ["uv", "pip", "install", "--quiet", f"--python={python}"]
    subprocess.run([*install, f"jax=={release}"], check=True, cwd=tmp_path)
    subprocess.run([*install, f"{wheel}[all]"], check=True, cwd=tmp_path)
    environment = clean_environment()
    command = [str(python), "-m", "xla_inspect.commands", "memory", "model.py:layer", "--json"]
    targets = [f"--target={target}" for target in ("cpu", "h100", "tpu-v5e")]
    result = subprocess.run(
        [*command, *targets], env=environment, cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert [answer["target"] for answer in json.loads(result.stdout)] == ["cpu", "h100", "tpu-v5e"]
    version_command = [str(python), "-c", "from importlib.metadata import version; print(version('jax'))"]
    assert subprocess.run(version_command, check=True, capture_output=True, text=True).stdout.strip() == release
