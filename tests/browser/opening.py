"""A site with the page that opens a dump, in the project's theme, and real dumps of a compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from inside_xla import open_dump_files

ROOT = Path(__file__).resolve().parents[2]
CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}]
strict: false
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav: [index.md, open-a-dump.md]
"""
PAGE = "open-a-dump/index.html"
PROGRAM = """\
import os, sys
os.environ["XLA_FLAGS"] = f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_pass_re=.* {os.environ['XLA_FLAGS']}"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

def layer(x, w):
    return jax.nn.softmax(jax.nn.relu(x @ w))

def total(x):
    return jax.lax.fori_loop(0, 8, lambda i, y: y + jnp.sin(x) * i, x).sum()

x, w = jax.ShapeDtypeStruct((64, 96), jnp.float32), jax.ShapeDtypeStruct((96, 32), jnp.float32)
over = NamedSharding(jax.make_mesh((4,), ("data",)), PartitionSpec("data"))
jax.jit(layer).lower(x, w).compile()
jax.jit(total, in_shardings=over).lower(x).compile()
"""


def build(folder: Path) -> Path:
    """Build the site in a folder, and return the folder of its built files.

    Raises:
        RuntimeError: The build failed; the message is its output.
    """
    docs = folder / "docs"
    docs.mkdir(parents=True)
    (docs / "index.md").write_text("# Home\n\nA site.\n", encoding="utf-8")
    for name in ("assets", "data", "open-a-dump.md"):
        (docs / name).symlink_to(ROOT / "docs" / name)
    (folder / "snippets").mkdir()
    (folder / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": ""}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stdout + ran.stderr)
    site = folder / "site"
    open_dump_files.publish_dump_page([(site / PAGE).read_text(encoding="utf-8")], site)
    return site


def dump(folder: Path) -> Path:
    """Compile two functions with JAX alone, and return the folder that XLA dumped them into."""
    folder.mkdir()
    script = folder.with_name("program.py")
    script.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True, env=environment)
    return folder
