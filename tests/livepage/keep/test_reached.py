"""A page depends on the code of the tool packages that it reaches, and on nothing else of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from livepage.keep.inputs import stamp_folder
from livepage.keep.reached import find_reached
from livepage.read import Adapter, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conftest import Site

    type Change = Callable[[str, str, str], tuple[str, str, str]]

PROJECT = Path(__file__).resolve().parents[3]
CONFIG = "\nmarkdown_extensions:\n  livepage.extension: {adapter: own_adapter}\n"
BLOCK = '# Page\n\n```python exec="on"\n{code}\n```\n'
FILES = {
    # Both pages of one process use `remember.read`, whose result is cached.
    "docs/a.md": BLOCK.format(
        code="from tool import measure\n\nprint(measure.area(2), measure.describe(), measure.turn())"
    ),
    "docs/b.md": BLOCK.format(code="import own\n\nprint(own.show())"),
    "snippets/own.py": "from tool.scale import FACTOR\nfrom tool import engine, remember\n\ndef show():\n"
    "    return FACTOR, remember.read(), engine.turn()\n",
    "snippets/own_adapter.py": """
        from livepage.read import Adapter

        class Own(Adapter):
            packages = ("tool",)
            lasting = {"tool.engine._start": "gear.py"}

            def find_imported(self, codes, folder):
                return {code for code in codes if not isinstance(code, str)}

        ADAPTER = Own()
        """,
    "snippets/tool/__init__.py": "",
    "snippets/tool/measure.py": """
        import importlib

        from tool import engine, remember
        from tool.constants import RATIO
        from tool.kinds import Kind
        from tool.table import ROWS
        from tool.unused import never

        def area(radius):
            return RATIO * radius, ROWS["row"], Kind.ONE.value, importlib.import_module("tool.named").USUAL

        def describe():
            from tool import local

            return local.NAME, remember.read()

        def turn():
            return engine.turn()

        def other():
            return never()
        """,
    "snippets/tool/constants.py": "RATIO = 3\n",
    "snippets/tool/kinds.py": "from enum import Enum\n\nfrom tool.base import FIRST\n\n"
    "class Kind(Enum):\n    ONE = FIRST\n",
    "snippets/tool/base.py": "FIRST = 10\n",
    "snippets/tool/table.py": "from tool.maker import make\n\nROWS = make()\n",
    "snippets/tool/maker.py": "from tool.unit import UNIT\n\ndef make():\n    return {'row': UNIT}\n",
    "snippets/tool/unit.py": "UNIT = 20\n",
    "snippets/tool/named.py": "USUAL = 30\n",
    "snippets/tool/local.py": "NAME = 40\n",
    "snippets/tool/unused.py": "from tool.lost import LOST\n\ndef never():\n    return LOST\n",
    "snippets/tool/lost.py": "LOST = 50\n",
    "snippets/tool/remember.py": """
        from functools import cache
        from pathlib import Path

        from tool import source

        @cache
        def read():
            return source.find(), Path(__file__).with_name("words.txt").read_text()
        """,
    "snippets/tool/source.py": "def find():\n    return 60\n",
    "snippets/tool/words.txt": "70",
    "snippets/tool/scale.py": "FACTOR = 80\n",
    # The page that comes second in a process does not run `_start`.
    "snippets/tool/engine.py": """
        from functools import cache
        from pathlib import Path

        @cache
        def _start():
            from tool import gear

            return gear.count(), Path(__file__).with_name("teeth.txt").read_text()

        def turn():
            return _start()
        """,
    "snippets/tool/gear.py": "def count():\n    return 90\n",
    "snippets/tool/teeth.txt": "110",
}


def build(root: Path) -> str:
    """Build a site in a new process, and return the log line with the numbers of pages, such as `(1 run)`."""
    folders = [str(root / "snippets"), str(PROJECT / "scripts"), str(PROJECT / "snippets")]
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return next(line for line in result.stderr.splitlines() if " pages (" in line)


@pytest.fixture(scope="module")
def site_root(shared_site: Site) -> Path:
    """A site that was site_root once."""
    shared_site.write(FILES)
    config = shared_site.root / "mkdocs.yml"
    config.write_text(config.read_text(encoding="utf-8") + CONFIG, encoding="utf-8")
    assert "(2 run)" in build(shared_site.root)
    return shared_site.root


@pytest.fixture
def change(site_root: Path, tmp_path: Path) -> Change:
    """A function that replaces a text in a copy of the site and builds it again."""

    def change(name: str, old: str, new: str) -> tuple[str, str, str]:
        root = Path(shutil.copytree(site_root, tmp_path / "copy", copy_function=shutil.copy2))
        path = root / "snippets" / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        later = path.stat().st_mtime_ns + 5_000_000_000
        os.utime(path, ns=(later, later))
        line = build(root)
        return line, *((root / "site" / page / "index.html").read_text(encoding="utf-8") for page in "ab")

    return change


@pytest.mark.parametrize(
    ("name", "old", "new", "text"),
    [
        ("tool/measure.py", "RATIO * radius", "RATIO * radius + 1000", "1006"),
        ("tool/constants.py", "3", "1001", "2002"),
        ("tool/base.py", "10", "1003", "1003"),
        ("tool/unit.py", "20", "1004", "1004"),
        ("tool/maker.py", "UNIT}", "UNIT + 1000}", "1020"),
        ("tool/named.py", "30", "1005", "1005"),
        ("tool/local.py", "40", "1007", "1007"),
    ],
)
def test_a_change_of_what_one_page_reaches_runs_this_page(
    change: Change, name: str, old: str, new: str, text: str
) -> None:
    line, a, b = change(name, old, new)
    assert "(1 run)" in line
    assert text in a
    assert text not in b


@pytest.mark.parametrize(
    ("name", "old", "new", "text"),
    [
        ("tool/source.py", "60", "1008", "1008"),
        ("tool/words.txt", "70", "1009", "1009"),
        ("tool/remember.py", "source.find()", "source.find() + 1000", "1060"),
        ("tool/gear.py", "90", "1012", "1012"),
        ("tool/teeth.txt", "110", "1013", "1013"),
    ],
)
def test_a_change_behind_a_cached_result_runs_each_page_that_uses_it(
    change: Change, name: str, old: str, new: str, text: str
) -> None:
    line, a, b = change(name, old, new)
    assert "(2 run)" in line
    assert text in a
    assert text in b


def test_an_edited_import_counts_in_the_same_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Adapter):
        packages = ("tool",)

    folder = tmp_path / "snippets" / "tool"
    folder.mkdir(parents=True)
    for name in ("__init__", "first", "second"):
        (folder / f"{name}.py").write_text("SIZE = 1\n" if name != "__init__" else "", encoding="utf-8")
    monkeypatch.setattr(project, "root", tmp_path)
    monkeypatch.setattr(project, "adapter", Own())
    user, reached = folder / "user.py", []
    for name in ("first", "second"):
        user.write_text(f"from tool.{name} import SIZE\n\ndef run():\n    return SIZE\n", encoding="utf-8")
        files = find_reached({str(user): {"SIZE"}}, [], [])
        reached.append({Path(file).name for file in files})
    assert reached == [{"user.py", "first.py"}, {"user.py", "second.py"}]


def test_the_code_behind_a_lasting_result_is_looked_for_again_after_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(Adapter):
        packages = ("tool",)
        lasting: ClassVar = {"tool.engine._start": "."}

        def find_imported(self, codes: Iterable[Path | str], _folder: Path) -> Iterable[Path]:
            return {code for code in codes if isinstance(code, Path)}

    folder = tmp_path / "snippets" / "tool"
    folder.mkdir(parents=True)
    engine = folder / "engine.py"
    engine.write_text("def _start(): ...\n", encoding="utf-8")
    monkeypatch.setattr(project, "root", tmp_path)
    monkeypatch.setattr(project, "adapter", Own())
    used = {str(engine): {"_start"}}
    assert {Path(file).name for file in find_reached(used, [], [])} == {"engine.py"}
    (folder / "gear.py").write_text("SIZE = 1\n", encoding="utf-8")
    assert {Path(file).name for file in find_reached(used, [], [])} == {"engine.py", "gear.py"}


def test_the_stamp_of_a_folder_changes_with_each_of_its_files_but_not_with_a_cache(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    stamps = [stamp_folder(str(tmp_path))]
    for size in (1, 2):
        (inner / "a.txt").write_text("x" * size, encoding="utf-8")
        stamps.append(stamp_folder(str(tmp_path)))
    (inner / "a.txt").rename(inner / "b.txt")
    stamps.append(stamp_folder(str(tmp_path)))
    (inner / "__pycache__").mkdir()
    (inner / "__pycache__" / "c.pyc").write_bytes(b"")
    assert len({*stamps}) == len(stamps)
    assert stamp_folder(str(tmp_path)) == stamps[-1]
    assert stamp_folder(str(tmp_path / "missing")) == stamps[0]


def test_a_constant_that_only_a_module_of_the_page_imports_counts(
    change: Change,
) -> None:
    line, _, b = change("tool/scale.py", "80", "1010")
    assert "(1 run)" in line
    assert "1010" in b


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("tool/unused.py", "return LOST", "return LOST + 1"), ("tool/lost.py", "50", "1011")],
)
def test_a_change_of_what_no_page_reaches_runs_none(change: Change, name: str, old: str, new: str) -> None:
    assert "(0 run)" in change(name, old, new)[0]
