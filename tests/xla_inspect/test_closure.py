"""The dependencies of code: imported files and named data files, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.closure import find_files, hash_files, hash_meaning, list_imports, list_places

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "main.py": "from rooms import hall\nimport numpy\n",
    "stranger.py": "import main\n",
    "rooms/__init__.py": "from rooms.cellar import wine\n",
    "rooms/hall.py": "from rooms.stairs import climb\nDOORS = 'doors.toml'\n",
    "rooms/stairs.py": "from rooms import hall\n",
    "rooms/attic.py": "",
    "rooms/cellar.py": "SHELF = 'shelf'\n",
    "rooms/doors.toml": "",
    "rooms/shelf/red.txt": "",
    "rooms/windows.toml": "",
    "lazy/__init__.py": "if TYPE_CHECKING:\n    from rooms import attic\n    from rooms.hall import DOORS\n"
    "else:\n    __getattr__ = lazy_names(__name__)\n",
    "yard/tree.py": "import main as house\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code, encoding="utf-8")
    return tmp_path


def names(folder: Path, *starts: Path | str, whole: tuple[str, ...] = ()) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in find_files(starts, list_places(folder), whole=whole)}


HALL = {"rooms/hall.py", "rooms/stairs.py", "rooms/doors.toml"}
CELLAR = {"rooms/__init__.py", "rooms/cellar.py", "rooms/shelf/red.txt"}


def test_a_file_depends_on_itself_and_on_its_transitive_imports(folder: Path) -> None:
    assert names(folder, folder / "main.py") == {"main.py", *HALL}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import rooms.hall", HALL),
        ("import rooms.hall as hall", HALL),
        ("from rooms import (\n    hall,\n)", HALL),
        ("from rooms.hall import DOORS", HALL),
        ("def later():\n    from rooms import hall", HALL),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rooms.hall import Door", HALL),
        ("from yard import tree", {"yard/tree.py", "main.py", *HALL}),
        ("text = 'from rooms import hall'", set()),
        ("import numpy", set()),
        ("this is no Python", set()),
    ],
)
def test_code_depends_on_imports_of_every_form(folder: Path, code: str, expected: set[str]) -> None:
    assert names(folder, code) == expected


def test_a_package_counts_if_a_name_is_imported_from_it_directly(folder: Path) -> None:
    assert names(folder, "from rooms import wine") == CELLAR
    assert names(folder, "import rooms") == CELLAR


def test_used_lazy_imports_count_and_all_of_them_if_the_package_is_imported(folder: Path) -> None:
    assert names(folder, "from lazy import attic") == {"lazy/__init__.py", "rooms/attic.py"}
    assert names(folder, "from lazy import DOORS") == {"lazy/__init__.py", *HALL}
    assert names(folder, "import lazy") == {"lazy/__init__.py", "rooms/attic.py", *HALL}


def test_a_data_file_counts_if_a_string_in_the_module_names_it(folder: Path) -> None:
    assert names(folder, folder / "rooms" / "cellar.py") == {"rooms/cellar.py", "rooms/shelf/red.txt"}


def test_a_folder_that_counts_completely_adds_all_of_its_files(folder: Path) -> None:
    everything = {name for name in FILES if name.startswith("rooms/")}
    assert names(folder, "from rooms import hall", whole=("rooms",)) == everything
    assert names(folder, "import roomy", whole=("rooms",)) == set()


def test_a_hash_changes_with_a_file_and_with_its_name_and_not_with_line_ends(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_bytes(b"a\nb\n")
    other.write_bytes(b"a\r\nb\r\n")
    before = hash_files([one], tmp_path)
    assert hash_files([other], tmp_path) != before
    one.write_bytes(other.read_bytes())
    assert hash_files([one], tmp_path) == before
    one.write_bytes(b"a\nc\n")
    assert hash_files([one], tmp_path) != before


@pytest.mark.parametrize(
    "code",
    [
        'def f(x):\n    """Describe f."""\n    return x + 1\n',
        "def f(x):\n    # A reason.\n    return (x\n            + 1)  # noqa: X\n",
        'def f(x):\n    return x + 1\n\n\n"""The end."""\n',
    ],
)
def test_comments_docstrings_and_layout_leave_the_hash_of_a_meaning_alone(tmp_path: Path, code: str) -> None:
    file = tmp_path / "module.py"
    file.write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    before = hash_meaning([file], tmp_path)
    file.write_text(code, encoding="utf-8")
    assert hash_meaning([file], tmp_path) == before


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("module.py", "def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2\n"),
        ("module.py", 'NAME = "a"\n', 'NAME = "b"\n'),
        ("module.py", "def f(\n", "def f( \n"),
        ("words.toml", "# one\n", "# two\n"),
    ],
)
def test_other_changes_change_the_hash_of_a_meaning(tmp_path: Path, name: str, before: str, after: str) -> None:
    file = tmp_path / name
    file.write_text(before, encoding="utf-8")
    first = hash_meaning([file], tmp_path)
    file.write_text(after, encoding="utf-8")
    assert hash_meaning([file], tmp_path) != first


def test_imports_are_listed_by_dotted_name() -> None:
    assert list_imports("import a.b\nfrom c.d import e, f as g\nfrom . import h\n") == ("a.b", "c.d.e", "c.d.f")
