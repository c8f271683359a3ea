"""How soon the page that opens a dump tells what is in one, beside the same reader in Python on this machine.

The dump is of a model's gradient with every pass, as large as one wants. Both read the same files in the same run, the
page's reader first: each figure is a time and how many times the other's it is.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say
from inside_xla import open_dump_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Page

LIMITS = {"load": 8.0, "table": 2.0, "read": 15.0}
"""The most seconds that each may take on two cores that do nothing else."""

PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Open a dump</title>
<div {open_dump_files.MARK}></div>
<script src="assets/explorer.js" defer></script>
<script type="module" src="assets/open-dump/page.js"></script>
</html>
"""

PROGRAM = """
import sys
import jax, jax.numpy as jnp

def block(x, p):
    h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    attended = jax.nn.softmax((h @ p["q"]) @ (h @ p["k"]).T / 8.0) @ (h @ p["v"])
    return x + attended @ p["o"] + jax.nn.gelu(h @ p["u"]) @ p["d"]

def loss(parameters, x):
    for p in parameters:
        x = block(x, p)
    return (x**2).mean()

shapes = dict.fromkeys("qkvo", (64, 64)) | {"u": (64, 256), "d": (256, 64)}
layer = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
jax.jit(jax.grad(loss)).lower([layer] * int(sys.argv[1]), jax.ShapeDtypeStruct((128, 64), jnp.float32)).compile()
jax.jit(jnp.sin).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).compile()
"""

PLAIN = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
from inside_xla.dump_reader import DumpReader
class Part(bytes):
    to_bytes = lambda self: bytes(self)
def read(number, first, last):
    with paths[number].open("rb") as file:
        file.seek(first)
        return Part(file.read(last - first))
reader, loaded = DumpReader(lambda _: None), time.perf_counter()
folder = Path(sys.argv[1])
paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
names = [[f"dump/{path.relative_to(folder).as_posix()}", path.stat().st_size] for path in paths]
modules, listed = json.loads(reader.open(json.dumps(names), read))["modules"], time.perf_counter()
for number in range(len(modules)):
    reader.read(number)
times = {"load": loaded - start, "table": listed - loaded, "read": time.perf_counter() - listed}
print(json.dumps(times))
"""

READ_ALL = """async () => {
  for (let number = 0; number < openDump.table.modules.length; number++) await openDump.reader.ask("read", { number })
}"""


def main(words: Sequence[str]) -> int:
    """Measure and print; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="scripts/bench dump", description=__doc__)
    parser.add_argument("--layers", type=int, default=26, help="of the model (default: 26, about 55 MiB)")
    parser.add_argument("--dump", type=Path, help="a folder to read in the place of one that is made")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        dump = asked.dump or make_dump(Path(folder, "dump"), asked.layers)
        sizes = [path.stat().st_size for path in dump.rglob("*") if path.is_file()]
        say(f"a dump of {sum(sizes) / 2**20:.1f} MiB in {len(sizes)} files")
        with serve(write_site(Path(folder, "site"))) as address:
            page = time_page(address, dump)
        plain = json.loads(call([sys.executable, "-c", PLAIN, str(dump)]))
    told = {"load": "the reader loaded", "table": "the table of modules", "read": "all modules read"}
    for name, what in told.items():
        ratio = page[name] / plain[name]
        say(f"{what}: {page[name]:.2f} s, {ratio:.1f} times Python's {plain[name]:.2f} s (at most {LIMITS[name]:g} s)")
    return 0


def make_dump(folder: Path, layers: int) -> Path:
    """Return a folder into which XLA dumped every pass over a model's gradient."""
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.*"
    call([sys.executable, "-c", PROGRAM, str(layers)], XLA_FLAGS=flags, JAX_PLATFORMS="cpu")
    return folder


def write_site(folder: Path) -> Path:
    """Return a folder with the page that opens a dump, and all that it fetches."""
    shutil.copytree(ROOT / "docs" / "assets" / "open-dump", folder / "assets" / "open-dump")
    shutil.copy(ROOT / "docs" / "assets" / "explorer.js", folder / "assets")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    open_dump_files.publish([PAGE], folder)
    return folder


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def time_page(address: str, dump: Path) -> dict[str, float]:
    """Return the seconds that the page takes to load its reader, to list a dump's modules, and to read all of them."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_default_timeout(600_000)
        page.goto(address)
        start = time.perf_counter()
        page.evaluate("openDump.load()")
        loaded = time.perf_counter()
        page.locator("input[name=folder]").set_input_files(dump)
        wait_for_table(page)
        listed = time.perf_counter()
        page.evaluate(READ_ALL)
        done = time.perf_counter()
        chromium.close()
    return {"load": loaded - start, "table": listed - loaded, "read": done - listed}


def wait_for_table(page: Page) -> None:
    """Wait until the modules of a dump are listed, or stop with why they are not."""
    page.locator(".modules, .refused:not([hidden])").first.wait_for()
    if page.locator(".refused").is_visible():
        sys.exit(page.locator(".refused").inner_text())


def call(command: list[str], **environment: str) -> str:
    """Return what a command of the project prints, or stop with what went wrong."""
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        sys.exit(ran.stderr[-2000:])
    return ran.stdout
