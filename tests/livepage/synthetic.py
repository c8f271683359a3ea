"""A synthetic site of 14 pages with 90 listings of compiler text, to time how soon an edit of its prose shows.

Run it alone, or call `time_rebuilds`, as the benchmark does.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

PROJECT = Path(__file__).resolve().parents[2]
PAGES = 14
BLOCKS = 90

CONFIG = """\
INHERIT: {project}/mkdocs.yml
docs_dir: docs
hooks: [{project}/scripts/livepage/mkdocs_hook.py]
theme: {{custom_dir: {project}/docs/overrides}}
watch: []
nav:
"""

# Three stages of six programs; what differs from block to block is the size of their arrays.
LISTINGS = """\
import functools

import jax
import jax.numpy as jnp


def attention(x):
    return jax.nn.softmax(x @ x.T / 8.0) @ x


def mlp(x):
    return jax.nn.gelu(x @ x.T + 1.0) @ x


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)


def block(x):
    x = x + attention(norm(x))
    return x + mlp(norm(x))


def train(x):
    return jax.grad(lambda x: block(x).sum())(x)


def scan(x):
    return jax.lax.scan(lambda carry, row: (carry + row, jnp.sort(carry * row)), x[0], x)


PROGRAMS = (attention, mlp, norm, block, train, scan)


@functools.cache
def listing(number):
    program = PROGRAMS[number % len(PROGRAMS)]
    traced = jax.jit(program).trace(jax.ShapeDtypeStruct((64 + number, 128), jnp.float32))
    language, text = (
        lambda: ("jaxpr", str(traced.jaxpr)),
        lambda: ("stablehlo", traced.lower().as_text()),
        lambda: ("hlo", traced.lower().compile().as_text()),
    )[number // len(PROGRAMS) % 3]()
    return f"```{language}\\n{text}\\n```"
"""

BLOCK = """\
```python exec="on"
from synthetic_listings import listing

shown = listing({number})
print(shown)
```
"""
PROSE = "A sentence about listing {number}, with `code`, a [link](page_{other}.md) and a value: `= len(shown)`.\n"


def make(root: Path) -> None:
    """Write the site into a folder: its configuration is the project's own."""
    (root / "docs").mkdir(parents=True)
    (root / "snippets").mkdir()
    (root / "snippets" / "synthetic_listings.py").write_text(LISTINGS, encoding="utf-8")
    for page in range(PAGES):
        numbers = range(page, BLOCKS, PAGES)
        parts = [f"# Page {page}\n"]
        for number in numbers:
            parts += [
                f"## Section {number}\n",
                BLOCK.format(number=number),
                "\n".join(PROSE.format(number=number, other=(page + 1) % PAGES) for _ in range(6)),
            ]
        (root / "docs" / f"page_{page}.md").write_text("\n".join(parts), encoding="utf-8")
    nav = "".join(f"  - page_{page}.md\n" for page in range(PAGES))
    (root / "mkdocs.yml").write_text(CONFIG.format(project=PROJECT) + nav, encoding="utf-8")


def time_rebuilds(runs: int = 5) -> tuple[float, list[float]]:
    """Build the site once, then edit the prose of a page and rebuild, as `mkdocs serve` does.

    Returns:
        Seconds of the first build, and seconds of each rebuild after an edit.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        make(root)
        sys.path.insert(0, str(root / "snippets"))
        try:
            first = _time_build(root)
            rebuilds = []
            for run in range(runs + 1):
                page = root / "docs" / f"page_{run % PAGES}.md"
                page.write_text(page.read_text(encoding="utf-8") + f"\nEdit {run}.\n", encoding="utf-8")
                rebuilds.append(_time_build(root))
                shown = (root / "site" / f"page_{run % PAGES}" / "index.html").read_text(encoding="utf-8")
                if f"<p>Edit {run}.</p>" not in shown:
                    message = f"the rebuild does not show edit {run}"
                    raise RuntimeError(message)
        finally:
            sys.path.remove(str(root / "snippets"))
    # The first rebuild still fills caches of the theme.
    return first, rebuilds[1:]


def _time_build(root: Path) -> float:
    start = time.perf_counter()
    build(load_config(str(root / "mkdocs.yml")), serve_url="http://localhost:8000/")
    return time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="how many edits to time")
    cold, warm = time_rebuilds(parser.parse_args().runs)
    sys.stdout.write(f"{PAGES} pages, {BLOCKS} listings: first build {cold:.2f} s, ")
    sys.stdout.write(f"rebuild after an edit {statistics.median(warm):.2f} s (median of {len(warm)})\n")
