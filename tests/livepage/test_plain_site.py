"""The engine on another site: three pages and a notebook without compilers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
CONFIG = f"""
site_name: Plain
hooks: [{SCRIPTS / "livepage/mkdocs_hook.py"}]
theme: {{name: mkdocs}}
plugins:
  markdown-exec: {{languages: []}}
markdown_extensions:
  attr_list: {{}}
  pymdownx.highlight: {{}}
  pymdownx.snippets: {{}}
  pymdownx.superfences: {{}}
  livepage.extension: {{}}
nav: [index.md, numbers.md, words.md, lab.py]
"""
INDEX = "# Home\n\nTo the [numbers](numbers.md) and to the [words](words.md).\n"
NUMBERS = """# Numbers

```python exec="on"
import math

primes = [n for n in range(2, 50) if all(n % p for p in range(2, n))]
print("The last is", primes[-1])
```

There are `= len(primes)` of them, and `= math.prod(primes[:6])` is a product.

```python check="There are fifteen"
assert len(primes) == 15
```
"""
WORDS = '# Words\n\n```python exec="on" source="above"\nprint("- one\\n- two")\n```\n'
LAB = '# %% [markdown]\n# # Lab\n\n# %%\nanswer = 6 * 7\nprint(answer)\n\n# %% check="It is so"\nassert answer == 42\n'
# Fails every import that this site could do without.
REFUSE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"xla_inspect", "inside_xla", "jax", "jaxlib"}:
            raise ModuleNotFoundError(f"{name} is not for this site")

sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a site of three pages and a notebook."""
    files = {"mkdocs.yml": CONFIG, "docs/index.md": INDEX, "docs/numbers.md": NUMBERS, "docs/words.md": WORDS}
    files |= {"docs/lab.py": LAB, "path/sitecustomize.py": REFUSE}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "path" / "livepage").symlink_to(SCRIPTS / "livepage")
    return tmp_path


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site strictly in a new process, and return the process."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "path")},
        capture_output=True,
        text=True,
        check=False,
    )


def read(folder: Path, page: str) -> str:
    return (folder / "site" / page / "index.html").read_text(encoding="utf-8")


def test_the_blocks_values_checks_and_notebooks_of_a_plain_site_run(folder: Path) -> None:
    result = build(folder)
    assert result.returncode == 0, result.stderr
    numbers = read(folder, "numbers")
    assert "<p>The last is 47</p>" in numbers
    assert '<span class="value">15</span>' in numbers
    assert '<span class="value">30,030</span>' in numbers
    assert '<p class="claim">Checked in this build: There are fifteen</p>' in numbers
    assert "<li>one</li>" in read(folder, "words")
    assert "<code>42\n" in read(folder, "lab")
    assert "There are 15 of them" in (folder / "site/numbers/index.md").read_text(encoding="utf-8")


def test_a_check_that_fails_on_a_plain_site_fails_the_build_with_page_and_line(folder: Path) -> None:
    page = folder / "docs/numbers.md"
    page.write_text(NUMBERS.replace("== 15", "== 16"), encoding="utf-8")
    shutil.rmtree(folder / "site", ignore_errors=True)
    result = build(folder)
    assert result.returncode == 1
    assert "docs/numbers.md:13: AssertionError: left was 15, right was 16" in result.stderr


def test_the_plain_site_cannot_import_this_project(folder: Path) -> None:
    (folder / "docs/words.md").write_text('# Words\n\n```python exec="on"\nimport jax\n```\n', encoding="utf-8")
    assert "docs/words.md:4: ModuleNotFoundError: jax is not for this site" in build(folder).stderr
