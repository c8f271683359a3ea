"""The scripts are in folders by purpose, with unique names, and only their packages can be imported."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from pathlib import Path

from common import ROOT

SCRIPTS = ROOT / "scripts"
TYPED = {"serve", "test", "update", "new-chapter", "bench", "drift", "peers", "measure"}
FOLDERS = {"authoring", "ci", "lint", "maintaining", "measuring"}
PACKAGES = FOLDERS | {"common", "inside_xla", "livepage", "releases"}


def list_commands() -> list[Path]:
    """Return the commands of the shell, in whatever folder."""
    return sorted(path for path in SCRIPTS.rglob("*") if path.is_file() and not path.suffix)


def test_user_commands_are_at_the_top_and_the_rest_in_folders() -> None:
    assert {path.name for path in list_commands() if path.parent == SCRIPTS} == TYPED
    assert {path.parent.name for path in list_commands()} - {SCRIPTS.name} < FOLDERS


def test_no_module_can_be_imported_but_the_packages_and_what_mkdocs_takes_by_path() -> None:
    """The folder is on the path, so that whatever lies in it is a module of the environment."""
    hooks = re.findall(r"scripts/(\w+)\.py", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    tops = {module.name for module in pkgutil.iter_modules([str(SCRIPTS)])} - {*hooks}
    # A folder without `__init__.py` could be imported as well.
    assert tops | {path.relative_to(SCRIPTS).parts[0] for path in SCRIPTS.glob("*/**/*.py")} == tops
    assert tops - PACKAGES == {"jax_plugins"}  # JAX imports this package as its namespace of plugins


def test_a_package_is_what_its_name_imports() -> None:
    """No installed package has the name of one of the scripts' packages."""
    own = {name: SCRIPTS / name / "__init__.py" for name in PACKAGES if (SCRIPTS / name).is_dir()}
    specs = {name: importlib.util.find_spec(name) for name in own}
    assert {name: spec and Path(str(spec.origin)) for name, spec in specs.items()} == own


COLLECTIONS = {"peers", "test"}
"""Commands that run other programs too, and so have a name of their own."""


def test_a_command_that_runs_one_module_has_its_name() -> None:
    modules = {}
    for command in list_commands():
        runs = re.findall(rf"(?:python -m|before_install) (?:{'|'.join(FOLDERS)})\.(\w+)", command.read_text("utf-8"))
        if len(set(runs)) == 1 and command.name not in COLLECTIONS:
            modules[command.name.replace("-", "_")] = runs[0]
    assert modules == {name: name for name in modules}
    assert {
        "bench",
        "measure",
        "since_record",
        "new_chapter",
        "update",
        "affirm",
        "draw_sentences",
        "pin",
        "newest",
        "portable",
        "browser_bundles",
        "links",
        "captures",
    } == modules.keys()
