"""Each package exports its public names in `__init__`, and other packages use only these."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from chapters import package_graph
from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def _read_once() -> Iterator[None]:
    """Read the imports between the project's files once for all of these tests."""
    import_list = [*package_graph.list_imports()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package_graph, "list_imports", lambda: import_list)
        yield


def test_no_import_bypasses_a_packages_exports() -> None:
    past = [
        f"{imported.place} takes {imported.name} from {imported.module}, past the face of {room}"
        for imported in package_graph.list_imports()
        if (room := package_graph.find_package(imported.module))
        and room not in {"xla_inspect", imported.module}
        and package_graph.find_package_of_file(imported.path) != room
    ]
    assert past == []


def test_every_imported_name_is_exported_by_its_package() -> None:
    faces, modules = package_graph.list_packages(), package_graph.list_modules()
    unknown = []
    for imported in package_graph.list_imports():
        exported_names = {*faces.get(imported.module, ()), *(name.rpartition(".")[2] for name in faces if "." in name)}
        if imported.module == "xla_inspect":
            exported_names |= {name.rpartition(".")[2] for name in modules}
        if (
            imported.module in faces
            and imported.name not in exported_names
            and package_graph.find_package_of_file(imported.path) != imported.module
        ):
            unknown.append(f"{imported.place} takes {imported.name}, which {imported.module} does not export")
    assert unknown == []


def test_every_exported_name_is_documented() -> None:
    public = [(room, name) for room, names in package_graph.list_packages().items() for name in sorted(names)]
    assert [f"{room}.{name}" for room, name in public if not package_graph.find_docstring(room, name)] == []


def test_every_exported_name_is_used_outside_of_its_package() -> None:
    faces = package_graph.list_packages()
    used_names = {
        (imported.module, imported.name)
        for imported in package_graph.list_imports()
        if imported.module in faces
        # The options of a question take the rest of its package lazily, from its face.
        and (package_graph.find_package_of_file(imported.path) != imported.module or imported.path.name == "options.py")
    }
    # What is installed as a command is used by its name.
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"].values()
    used_names |= {tuple(entry.split(":")) for entry in scripts}
    used_names.add(("xla_inspect.play", "recapture"))  # by the tests that the playground copies
    # The package's own face is for its users.
    exported = {(room, name) for room, names in faces.items() for name in names if room != "xla_inspect"}
    assert sorted(exported - used_names) == []


PARTS = {"options", "finding", "rendering"}
"""The names of modules that the package of each question has."""


def test_no_two_modules_have_one_name_but_the_parts_of_a_question() -> None:
    # Programs, exercises, peers and claims are named for what they hold, and nothing of the tool imports them.
    folders = ("snippets/xla_inspect", "snippets/chapters", "scripts")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if not path.name.startswith("__")]
    questions = ROOT / "snippets" / "xla_inspect" / "questions"
    names = Counter(path.stem for path in paths if not (path.stem in PARTS and path.parents[1] == questions))
    assert [name for name, times in names.items() if times > 1] == []
    assert not PARTS & names.keys()


def test_a_deep_import_and_an_unused_export_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conditions that the tests above check do occur."""
    import_list = list(package_graph.list_imports())
    assert {"docs", "scripts", "snippets", "tests"} == {use.place.partition("/")[0] for use in import_list}
    assert package_graph.find_package("xla_inspect.report.explorer.embed") == "xla_inspect.report.explorer"
    assert package_graph.find_package("xla_inspect.practice.marking.check_helpers") == "xla_inspect.practice"
    deep = package_graph.Import("docs/x.md:1", ROOT / "docs" / "x.md", "xla_inspect.hlo.parser", "parse_module")
    monkeypatch.setattr(package_graph, "list_imports", lambda: [*import_list, deep])
    with pytest.raises(AssertionError, match=r"docs/x.md:1 takes parse_module from xla_inspect.hlo.parser, past"):
        test_no_import_bypasses_a_packages_exports()
