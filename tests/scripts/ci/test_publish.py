"""Published versions of the site and the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common import ROOT
from livepage.publish import site_checksum

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

MIKE = Path(sys.executable).with_name("mike")
CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}]
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav:
  - Home: index.md
"""
GOOD = "---\ndescription: A page.\n---\n\n# Home\n\nTwo is `= 1 + 1`.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git clone that holds a site of one page, with the project's own configuration."""
    (tmp_path / "snippets").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(GOOD, encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "docs"], ["commit", "--quiet", "--message", "Begin"]):
        git(tmp_path, *command)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    """Run git as somebody, and return what it prints."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()  # fmt: skip


def deploy(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Deploy a version with mike, as scripts/ci/publish does."""
    environment = os.environ | {
        "SITE_URL": "https://example.org/xla/",
        "SITE_VERSIONS": "1",
        "NO_MKDOCS_2_WARNING": "1",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "a",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "a@localhost",
        "PATH": os.pathsep.join([str(MIKE.parent), os.environ["PATH"]]),
    }
    command = [MIKE, "deploy", "--branch", "gh-pages", "--update-aliases", "--alias-type", "copy", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def test_a_version_and_its_alias_are_built_and_the_header_offers_the_others(folder: Path) -> None:
    result = deploy(folder, "0.1", "stable")
    assert result.returncode == 0, result.stderr
    names = git(folder, "ls-tree", "--name-only", "gh-pages").split()
    assert {"0.1", "stable", "versions.json"} <= set(names)
    versions = json.loads(git(folder, "show", "gh-pages:versions.json"))
    assert [(version["version"], version["aliases"]) for version in versions] == [("0.1", ["stable"])]
    page = git(folder, "show", "gh-pages:0.1/index.html")
    assert '<span class="value">2</span>' in page
    assert '"provider": "mike"' in page
    assert '<link rel="canonical" href="https://example.org/xla/0.1/">' in page
    assert "https://example.org/xla/0.1/" in git(folder, "show", "gh-pages:0.1/sitemap.xml")


def test_a_version_with_a_failing_page_is_not_kept(folder: Path) -> None:
    (folder / "docs" / "index.md").write_text(GOOD.replace("1 + 1", "1 / 0"), encoding="utf-8")
    result = deploy(folder, "0.1")
    assert result.returncode != 0
    assert "docs/index.md:7: ZeroDivisionError" in result.stderr
    assert git(folder, "branch", "--list", "gh-pages") == ""


LEAVING = """
```python exec="on"
{code}
```
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os\nos._exit(0)", "docs/index.md:11: os._exit(0): a block must not leave Python"),
        ("import os\nos.execv('/bin/true', ['true'])", "docs/index.md:11: a block must not put another program"),
        ("import ctypes\nctypes.CDLL(None)._exit(0)", "docs/index.md:11: this line ended the process, with exit"),
    ],
)
def test_a_version_whose_build_was_left_is_not_kept(folder: Path, code: str, message: str) -> None:
    """Python's own ways are refused; native code ends the process of the page alone."""
    (folder / "docs" / "index.md").write_text(GOOD + LEAVING.format(code=code), encoding="utf-8")
    result = deploy(folder, "0.1")
    assert result.returncode != 0
    assert message in result.stderr
    assert git(folder, "branch", "--list", "gh-pages") == ""


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a site strictly by the plain command, and return the process."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_only_a_finished_site_has_a_stamp_that_holds(folder: Path) -> None:
    site, page = folder / "site", folder / "docs/index.md"
    assert build(folder).returncode == 0
    assert site_checksum.check_checksum(site) == ""
    html = (site / "index.html").read_text(encoding="utf-8")
    (site / "index.html").write_text(html.replace("2", "3"), encoding="utf-8")
    assert (
        site_checksum.check_checksum(site)
        == f"{site} is not what its build left: its files do not add up to the sum in built.json"
    )
    (site / "index.html").unlink()
    assert site_checksum.check_checksum(site) == f"{site} lacks the page index.html, which its built.json names"
    for code in ("1 / 0", "__import__('ctypes').CDLL(None)._exit(0)", "__import__('signal').raise_signal(9)"):
        page.write_text(GOOD.replace("1 + 1", code), encoding="utf-8")
        assert build(folder).returncode != 0
        assert "holds no finished site" in site_checksum.check_checksum(site)


def test_publishing_refuses_a_site_without_its_pages(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The branch of versions is as it was before, whatever mike did."""
    tools = tmp_path_factory.mktemp("tools")
    empty = "git checkout -q --orphan gh-pages && git rm -rfq --cached . && mkdir $7 && touch $7/x && git add -f $7 && "
    for name, does in {
        "uv": 'case "$2" in --no-sync) shift 2; exec "$@";; esac',  # what browsers load is not what this is about
        "mike": f'[ "$1" = deploy ] || exit 0\n{empty} git commit -qm V && git checkout -qf master',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    git(folder, "branch", "-M", "master")
    path = os.pathsep.join([str(tools), str(MIKE.parent), os.environ["PATH"]])
    result = run(folder, "publish", "build", "0.1", SITE_URL="https://example.org/", PATH=path)
    assert result.returncode == 1
    assert "pages/0.1 holds no finished site: there is no built.json, which a build writes last" in result.stderr
    assert "publish: what was built is no whole site; nothing is published, and gh-pages is as it was." in result.stderr
    assert git(folder, "branch", "--list", "gh-pages") == ""


def run(folder: Path, script: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of the project's scripts, copied into a folder."""
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    environment = {name: value for name, value in os.environ.items() if name != "SITE_URL"} | variables
    command = ["bash", f"scripts/ci/{script}", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def test_publishing_without_the_sites_address_says_what_to_set(tmp_path: Path) -> None:
    result = run(tmp_path, "publish", "build", "0.1")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "publish: SITE_URL is ''. "
        "Set it to the address that all versions are under, such as https://host/path/.\n"
    )  # fmt: skip


def test_a_workflow_without_the_sites_address_gives_the_reason_in_its_summary(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    result = run(tmp_path, "publish", "nothing", GITHUB_STEP_SUMMARY=str(summary))
    assert (result.returncode, result.stderr) == (0, "")
    [sentence, advice] = summary.read_text(encoding="utf-8").split(". ")
    assert sentence == "Nothing is published, because this repository has no variable SITE_URL"
    assert "GitHub Actions as the source of Pages" in advice
    assert sentence in result.stdout


def begin(folder: Path) -> Path:
    """Make a repository with a branch of versions that holds `dev`, and return a clone of it."""
    work_tree = folder / "made"
    work_tree.mkdir()
    git(work_tree, "init", "--quiet", "--initial-branch=main")
    git(work_tree, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    git(work_tree, "switch", "--quiet", "--orphan", "gh-pages")
    add(work_tree, **{"index.html": "url=dev/", "versions.json": "[]"})
    for name in ("404.html", "sitemap.xml", "llms.txt"):
        add(work_tree, **{f"dev/{name}": name})
    git(folder, "clone", "--quiet", "--bare", str(work_tree), "origin")
    return clone(folder, "here")


def clone(folder: Path, name: str) -> Path:
    """Clone the repository `origin` into a folder of this name, and return it; add a `gh` that does nothing."""
    git(folder, "clone", "--quiet", "origin", name, "--branch", "main")
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "gh").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "bin" / "gh").chmod(0o755)
    return folder / name


def add(folder: Path, **files: str) -> None:
    """Write files into a repository, and commit them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Add")


def bundle(folder: Path, name: str, **files: str) -> str:
    """Add files to the branch of versions in a new clone, and return the path of a git bundle of that branch."""
    copy = clone(folder, name)
    git(copy, "switch", "--quiet", "gh-pages")
    add(copy, **files)
    git(copy, "bundle", "create", "--quiet", str(folder / f"{name}.bundle"), "gh-pages")
    return str(folder / f"{name}.bundle")


def push(folder: Path, bundle: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/ci/publish push` on a bundle in a clone, as the workflow does."""
    shutil.rmtree(folder / "scripts", ignore_errors=True)
    return run(folder, "publish", "push", bundle, PATH=f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}")


def test_two_versions_that_are_published_at_once_are_both_kept(tmp_path: Path) -> None:
    here = begin(tmp_path)
    release = bundle(tmp_path, "release", **{"0.2/index.html": "0.2", "versions.json": '["0.2"]'})
    main = bundle(tmp_path, "main", **{"dev/index.html": "new"})
    assert [push(here, checkout).returncode for checkout in (release, main)] == [0, 0]
    git(here, "fetch", "--quiet")
    published_files = {
        name: git(here, "show", f"origin/gh-pages:{name}") for name in ("0.2/index.html", "dev/index.html")
    }
    assert published_files == {"0.2/index.html": "0.2", "dev/index.html": "new"}
    assert git(here, "show", "origin/gh-pages:versions.json") == '["0.2"]'


def test_an_unmergeable_bundle_is_rejected_and_the_branch_stays(tmp_path: Path) -> None:
    here = begin(tmp_path)
    first, second = (bundle(tmp_path, name, **{"versions.json": name}) for name in ("first", "second"))
    assert push(here, first).returncode == 0
    result = push(here, second)
    assert result.returncode == 1
    assert "both changed the same file" in result.stderr
    git(here, "fetch", "--quiet")
    assert git(here, "show", "origin/gh-pages:versions.json") == "first"


def test_the_deployment_is_the_branch_plus_root_files(tmp_path: Path) -> None:
    here = begin(tmp_path)
    result = run(here, "publish", "pages")
    assert (result.returncode, result.stderr) == (0, "")
    pages_folder = here / ".cache" / "publish" / "pages"
    file_names = sorted(path.relative_to(pages_folder).as_posix() for path in pages_folder.rglob("*") if path.is_file())
    files = ["404.html", "llms.txt", "sitemap.xml"]
    assert file_names == sorted([*files, *(f"dev/{name}" for name in files), "index.html", "versions.json"])


def test_a_tag_outside_of_main_builds_no_package(tmp_path: Path) -> None:
    here = begin(tmp_path)
    git(here, "commit", "--quiet", "--allow-empty", "--message", "Aside")
    result = run(here, "package", "build", "v0.1.0")
    assert result.returncode == 1
    assert "v0.1.0 is no commit of origin/main: merge it first, and tag what main holds" in result.stderr
    assert not (here / "dist").exists()


def test_a_tag_of_another_version_builds_no_package(tmp_path: Path) -> None:
    result = run(tmp_path, "package", "build", "v99.0.0")
    assert result.returncode == 1
    assert "the tag is v99.0.0 and the version in pyproject.toml is 0.1.0: the tag of that version is v0.1.0" in (
        result.stderr
    )
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("publish", ["push"]),
        ("package", ["build", "a", "b"]),
        ("newest", ["try"]),
        ("comment", ["post"]),
        ("needs_ok", []),
    ],
)
def test_wrong_arguments_are_refused_with_a_way_to_the_right_ones(
    script: str, words: list[str], tmp_path: Path
) -> None:
    result = run(tmp_path, script, *words)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{script}: ")
