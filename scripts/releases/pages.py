"""The site's pages under another release of JAX, and the sentences on them that become false."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT
from releases import pinned_environments
from xla_inspect.process import Child, name_end
from xla_inspect.releases import (
    Disagreement,
    ReleaseError,
    clean_environment,
    shorten_refusal,
)
from xla_inspect.releases import install as install_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.releases import Environment


OF_JAX = re.compile(r"(?:jax|jaxlib|libtpu|jax-cuda|nvidia-)")
"""The packages that belong to the release itself."""

INSTALLED = re.compile(r"[^\s'\"(]*[/\\]site-packages[/\\]")
"""The installation path of a package in error messages; it is removed, so that records name no folder of a machine."""

ABOUT_RELEASES = "docs/what-changed.md"
"""The page about releases, which is made from these measurements and so is not run."""

Result = tuple[dict[str, dict[str, int]], tuple[Disagreement, ...]]


def run_pages(environment: Environment, say: Callable[[str], None], *, pages: tuple[str, ...] = ()) -> Result:
    """Run the site's pages under a release; return the number of pieces of each kind by page, and the failed pieces.

    The pages are those of the last commit, so that they can be edited in the meantime. Results for the same commit and
    release are reused.

    Args:
        environment: The environment of the release.
        say: A function that receives progress messages.
        pages: Pages such as `docs/fusion.md`; all pages if empty.

    Raises:
        ReleaseError: The packages that pages need cannot be installed with the release.
    """
    tree, commit = export(environment.folder / "tree")
    install(environment)
    store = environment.folder / "pages" / commit
    store.mkdir(parents=True, exist_ok=True)
    specs = environment.folder / "figures"
    specs.mkdir(exist_ok=True)
    for name, text in pinned_environments.adapt_all(environment).items():
        (specs / f"{name}.txtpb").write_text(text, encoding="utf-8")
    names = sorted(path.relative_to(tree).as_posix() for path in (tree / "docs").rglob("*.md"))
    chosen = [page for page in pages or names if page != ABOUT_RELEASES]
    results = {page: store / f"{hashlib.sha256(page.encode()).hexdigest()[:12]}.json" for page in chosen}
    # Each round ends at a page that ends its process; that page then has a result, so the loop terminates.
    while waiting := {page: str(out) for page, out in results.items() if not out.exists()}:
        job = {"root": str(tree), "cache": str(environment.folder / "captures"), "figures": str(specs)}
        (environment.folder / "pages.json").write_text(json.dumps({**job, "pages": waiting}), encoding="utf-8")
        _follow(environment, waiting, len(results), say)
    return gather({page: json.loads(out.read_text(encoding="utf-8")) for page, out in results.items()})


def gather(results: Mapping[str, Mapping[str, object]]) -> Result:
    """Return the counts and the failures from the results of all pages."""
    counts, failed = {}, []
    for page, result in results.items():
        counts[page] = dict(result["pieces"])  # type: ignore[call-overload]  # JSON
        failed += [
            Disagreement(page, line, what, sentence, INSTALLED.sub("", error))
            for line, what, sentence, error in result["failed"]  # type: ignore[attr-defined]  # JSON
        ]
    return counts, tuple(failed)


def _follow(environment: Environment, waiting: Mapping[str, str], total: int, say: Callable[[str], None]) -> None:
    """Run the probe once; if its process ends on a page, record that as the page's result.

    Raises:
        ReleaseError: The process failed before the first page, or between two pages.
    """
    folder, finished, page = environment.folder, total - len(waiting), ""
    # The release's interpreter has no path to this project, so it is added for the probe.
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); from releases.page_probe import main; main()"
    with (
        (folder / "pages.log").open("w", encoding="utf-8") as log,
        Child(
            ["nice", "-n", "10", str(environment.python), "-I"],
            program,
            [str(folder / "pages.json")],
            variables=clean_environment(),
            source=None,
            errors=log,
        ) as child,
    ):
        for line in child:
            if line.startswith('{"at"') and (page := json.loads(line)["at"]):
                finished += 1
                say(f"{environment.version}: page {finished} of {total}, {page}")
        code = child.process.wait()
    if code == 0:
        return
    if not page:
        tail = (folder / "pages.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        message = f"pages do not run under JAX {environment.version}: {' '.join(tail) or 'nothing was said'}"
        raise ReleaseError(message)
    end = f"ended the process ({name_end(code)})"
    say(f"{environment.version}: {page} {end}")
    ended = [[1, "page", page, f"it {end}"]]
    Path(waiting[page]).write_text(json.dumps({"pieces": {}, "failed": ended}), encoding="utf-8")


def export(folder: Path) -> tuple[Path, str]:
    """Extract the files of the last commit below a folder; return their folder and the commit's first 12 digits."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    tree = folder / commit[:12]
    if not (tree / "mkdocs.yml").exists():
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(tree, filter="data")
    return tree, commit[:12]


def install(environment: Environment) -> None:
    """Install the pinned packages that pages need into a release's environment, without JAX and its compilers.

    Raises:
        ReleaseError: The installation fails.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    direct = [*project["dependency-groups"]["package"], *project["dependency-groups"]["docs"]]
    requirements = [
        requirement for requirement in direct if isinstance(requirement, str) and not OF_JAX.match(requirement)
    ]
    mark = environment.folder / "packages.json"
    if mark.exists() and json.loads(mark.read_text(encoding="utf-8")) == requirements:
        return
    pins = [f"{name}=={version}" for name, version in environment.versions.items()]
    if refusal := install_requirements(str(environment.python), [*requirements, *pins]):
        message = f"what pages need does not install beside JAX {environment.version}: {shorten_refusal(refusal)}"
        raise ReleaseError(message)
    mark.write_text(json.dumps(requirements), encoding="utf-8")
