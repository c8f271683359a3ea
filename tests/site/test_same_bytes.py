"""Two builds of the same files give the same bytes, wherever and whenever they run."""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
CONFIG = f"""\
INHERIT: {PROJECT}/mkdocs.yml
hooks: [{PROJECT}/scripts/livepage/mkdocs_hook.py]
theme: {{custom_dir: {PROJECT}/docs/overrides}}
watch: []
nav: [index.md, page.md]
"""
PAGE = """\
# Page

```python exec="on" source="above" html="on"
print("<svg viewBox='0 0 1 1'></svg>", {"one", "two"} == {"two", "one"})
```

```python exec="on"
import jax
import jax.numpy as jnp

traced = jax.jit(lambda x: jax.nn.softmax(x @ x)).trace(jax.ShapeDtypeStruct((8, 8), jnp.float32))
for name, text in {"jaxpr": traced.jaxpr, "stablehlo": traced.lower().as_text()}.items():
    lines = [f"```{name}", *str(text).split("\\n"), "```"]
    print(f'=== "{name}"\\n\\n' + "\\n".join("    " + line for line in lines) + "\\n")
print("## A heading from a block")
```

There are `= len(traced.jaxpr.eqns)` equations[^1].

[^1]: In `= traced.fun_name`.

```python check="They can be counted"
assert traced.jaxpr.eqns
```
"""


def test_two_builds_in_two_folders_give_the_same_bytes(tmp_path: Path) -> None:
    """With other hash seeds, at other times of day and on another number of cores."""
    folders = [tmp_path / "a", tmp_path / "b" / "deeper"]
    running = [_build(folder, seed, cores) for folder, (seed, cores) in zip(folders, (("1", 1), ("2", 2)), strict=True)]
    assert [process.wait() for process in running] == [0, 0]
    first, second = (folder / "site" for folder in folders)
    assert (first / "page" / "index.html").is_file()
    assert (first / "sitemap.xml.gz").is_file()
    assert list(_differences(first, second)) == []


def _build(folder: Path, seed: str, cores: int) -> subprocess.Popen[bytes]:
    (folder / "docs").mkdir(parents=True)
    (folder / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    (folder / "docs" / "index.md").write_text("# Home\n\nSee [the page](page.md).\n", encoding="utf-8")
    (folder / "docs" / "page.md").write_text(PAGE, encoding="utf-8")
    environment = {**os.environ, "PYTHONHASHSEED": seed, "JAX_PLATFORMS": "cpu", "NO_MKDOCS_2_WARNING": "1"}
    # A commit gives the date of a build that is made from one.
    environment |= {"SOURCE_DATE_EPOCH": "1700000000", "TZ": "UTC" if cores == 1 else "Asia/Tokyo"}
    code = "import os, runpy, sys; sys.argv = ['mkdocs', 'build', '--strict']\n"
    if hasattr(os, "sched_setaffinity"):
        code += f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n"
    code += "runpy.run_module('mkdocs', run_name='__main__')"
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment)


def _differences(first: Path, second: Path) -> Iterator[str]:
    names = [
        {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} for root in (first, second)
    ]
    yield from names[0] ^ names[1]
    yield from (name for name in names[0] & names[1] if not filecmp.cmp(first / name, second / name, shallow=False))
