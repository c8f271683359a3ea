"""The package builds into a wheel that holds the package and nothing else, and imports without JAX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "snippets" / "xla_inspect"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `uv build` makes."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["uv", "build", "--wheel", "--quiet", f"--python={sys.executable}", f"--out-dir={folder}", str(ROOT)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {path.relative_to(PACKAGE.parent).as_posix() for path in files}


def test_the_wheel_holds_the_licence(wheel: Path) -> None:
    archive = ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
    assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def test_the_installed_wheel_imports_without_jax_or_numpy(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    command = ["uv", "pip", "install", "--quiet", "--no-deps", f"--python={sys.executable}", f"--target={target}"]
    subprocess.run([*command, str(wheel)], check=True)
    # -S leaves out the environment's own packages, JAX among them.
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import xla_inspect; print(xla_inspect.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=False, capture_output=True, text=True)
    assert (done.stderr, done.stdout.strip()) == ("", str(target / "xla_inspect" / "__init__.py"))
