"""A fetched capture that the compiler contradicts is found and reported by the name of its program."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from common import ROOT
from livepage.keep import page_store
from livepage.serve import PagesPending
from livepage.workers import PageProcess
from maintaining import capture_check, fetched_captures
from maintaining.capture_sets import hash_bytes
from maintaining.fetched_captures import FetchRecord, read_record
from xla_inspect.captured import Code, Memory, PassRun, Times, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from xla_inspect import Capture

CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}]
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav:
  - Home: index.md
"""
PAGE = """\
---
description: A page.
---

# Home

```python exec="on"
import jax.numpy as jnp
from xla_inspect import capture

def double(x):
    return x + x

one = capture(double, jnp.ones(8), target="cpu")
print(one.target)
```
"""
NAME = "docs/index.md"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda one: one.retold(memory=replace(one.memory, temporaries=1)), "memory"),
        (lambda one: one.retold(options={**one.options, "xla_more": "1"}), "options"),
        (lambda one: one.retold(after=one.after.replace("f32", "f16")), "after"),
        (lambda one: one.retold(identity="other"), "identity"),
    ],
)
def test_a_changed_field_is_a_difference(
    double: Capture, change: Callable[[Capture], Capture], difference: str
) -> None:
    compiled = pack(double)
    described = capture_check.describe_difference(pack(change(double)), compiled)
    assert described == f"the program `double` for cpu: {difference}"


def test_what_is_listed_without_its_parts_is_compared_too(double: Capture) -> None:
    """A packed capture also stores properties of its parts, so that reading them needs no part."""
    data = pack(double)
    reader = zlib.decompressobj(wbits=31)
    record = json.loads(reader.decompress(data))
    record["kept"]["pass_names"] = ["another"]
    fetched = gzip.compress(json.dumps(record).encode()) + reader.unused_data
    assert "kept" in capture_check.describe_difference(fetched, data)


def test_times_and_the_name_in_the_asking_program_are_no_differences(double: Capture) -> None:
    other = double.retold(times=Times(compiling=9.0), program="another", source_file="other.py", source="")
    assert capture_check.describe_difference(pack(other), pack(double)) == ""


def test_whether_a_pass_shares_objects_of_the_process_is_no_difference(double: Capture) -> None:
    """XLA's passes `literal-canonicalizer` and `shape-canonicalizer` depend on the programs compiled before."""

    def mark(name: str, *, changed: bool) -> bytes:
        return pack(double.retold(runs=(PassRun("pipeline", name, changed), *double.runs[1:])))

    shared = [mark("shape-canonicalizer", changed=changed) for changed in (True, False)]
    assert capture_check.describe_difference(*shared) == ""
    others = [mark("algsimp", changed=changed) for changed in (True, False)]
    assert capture_check.describe_difference(*others) != ""


def test_the_code_of_a_kernel_whose_arguments_have_no_order_is_not_compared(double: Capture) -> None:
    """XLA orders the arguments of a loop that it compiles into one kernel by their addresses."""
    kernels = {name: [pack(double.retold(code=(Code(name, "asm", text),))) for text in ("add", "sub")]
               for name in ("call.7_computation", "add_fusion")}  # fmt: skip
    described = {name: capture_check.describe_difference(*pair) for name, pair in kernels.items()}
    assert described == {"call.7_computation": "", "add_fusion": "the program `double` for cpu: code"}


def test_the_path_of_the_clone_is_no_difference() -> None:
    one, other, changed = (
        gzip.compress(f'key\n{{"names": "1 \\"{path}/layer.py\\""}}'.encode())
        for path in ("/home/one/clone/snippets/programs", "/somewhere/snippets/programs", "/somewhere/snippets/pages")
    )
    assert capture_check.describe_difference(one, other) == ""
    assert capture_check.describe_difference(one, changed) != ""


def test_the_compression_is_no_difference() -> None:
    assert capture_check.describe_difference(gzip.compress(b"key\ntext", 1), gzip.compress(b"key\ntext", 9)) == ""


def test_a_changed_text_is_a_difference_except_for_its_time() -> None:
    one, other, changed = (
        gzip.compress(text.encode())
        for text in (
            "key\nUsed 7 registers\nptxas info : Compile time = 13 ms\n",
            "key\nUsed 7 registers\nptxas info : Compile time = 40 ms\n",
            "key\nUsed 9 registers\nptxas info : Compile time = 13 ms\n",
        )
    )
    assert capture_check.describe_difference(one, other) == ""
    assert capture_check.describe_difference(one, changed) != ""


def test_damaged_data_is_a_difference(double: Capture) -> None:
    data = pack(double)
    assert "cannot be read" in capture_check.describe_difference(data[:-5], data)
    assert "cannot be read" in capture_check.describe_difference(b"no gzip", data)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one page that compiles one program."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "snippets").mkdir()
    (folder / "docs").mkdir()
    (folder / NAME).write_text(PAGE, encoding="utf-8")
    (folder / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def compiled(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The captures of the project's page, compiled elsewhere, by key."""
    cache = tmp_path_factory.mktemp("publisher")
    process = PageProcess(project, XLA_INSPECT_CACHE=str(cache), **{page_store.STORE_OFF: "1"})
    try:
        assert process.answer(NAME).failure is None
    finally:
        process.popen.kill()
        process.popen.wait()
    return {path.stem: path.read_bytes() for path in cache.glob("*.gz")}


@pytest.fixture
def double(compiled: dict[str, bytes]) -> Capture:
    """The capture of the project's program."""
    [data] = compiled.values()
    return unpack(data)


@pytest.fixture
def cache(compiled: dict[str, bytes], tmp_path: Path) -> Path:
    """A cache into which the page's captures were fetched."""
    assert compiled
    for key, data in compiled.items():
        (tmp_path / f"{key}.gz").write_bytes(data)
    FetchRecord(files={key: hash_bytes(data) for key, data in compiled.items()}, unchecked=[*compiled]).write(tmp_path)
    return tmp_path


def falsify(cache: Path) -> None:
    """Change the memory plan in the fetched capture of the program."""
    for path in cache.glob("*.gz"):
        one = unpack(path.read_bytes())
        path.write_bytes(pack(one.retold(memory=Memory(1, 2, 3, 4, 5, 6))))


def test_a_true_capture_is_compiled_again_without_a_difference(project: Path, cache: Path) -> None:
    result = capture_check.check_captures(project, cache, [NAME])
    assert (result.compared, result.differences, result.is_whole) == ({*read_record(cache).files}, [], True)


def test_a_falsified_capture_is_found(project: Path, cache: Path) -> None:
    falsify(cache)
    result = capture_check.check_captures(project, cache, [NAME])
    [difference] = result.differences
    assert difference.startswith("the program `double` for cpu: memory (on docs/index.md, ")


def test_a_server_that_ends_stops_the_check(project: Path, cache: Path) -> None:
    result = capture_check.check_captures(project, cache, [NAME], is_wanted=lambda: False)
    assert (result.compared, result.is_whole) == (set(), False)


def test_a_twentieth_of_the_captures_and_of_the_pages_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"key{number}" for number in range(100)]
    for key in keys:
        (tmp_path / f"{key}.gz").write_bytes(gzip.compress(f"{key}\ntext".encode()))
    FetchRecord(unchecked=keys).write(tmp_path)
    ran: list[str] = []

    class Process:
        """A process in which a page compiles one capture of its own, or every capture."""

        def __init__(self, _: Path, **variables: str) -> None:
            self.popen, self.cache = self, tmp_path.__class__(variables["XLA_INSPECT_CACHE"])

        def answer(self, page: str) -> None:
            ran.append(page)
            for key in keys if page.startswith("every") else [page]:
                (self.cache / f"{key}.gz").write_bytes(gzip.compress(f"{key}\ntext".encode()))

        def kill(self) -> None:
            """Do nothing."""

        wait = kill

    monkeypatch.setattr(capture_check, "PageProcess", Process)
    result = capture_check.check_captures(tmp_path, tmp_path, keys[:40])
    assert (len(ran), result.compared, result.differences) == (5, {*ran}, [])
    ran.clear()
    capture_check.check_captures(
        tmp_path, tmp_path, [*keys[:2], *(f"other{number}" for number in range(98))], share=0.01
    )
    assert ran[-1] in keys[:2]
    ran.clear()
    capture_check.check_captures(tmp_path, tmp_path, [f"every{number}" for number in range(60)])
    assert len(ran) == 3


@contextmanager
def served(*shares: float) -> Iterator[str]:
    """Serve a progress that has these shares one after another, and give the address."""
    answers = iter(shares)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            share = next(answers, None)
            self.send_response(200 if share is not None else 500)
            self.end_headers()
            self.wfile.write(json.dumps({"share": share, "text": ""}).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_the_check_waits_until_the_server_has_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_check.time, "sleep", lambda _: None)
    with served(0.2, 0.9, 1.0) as address:
        assert capture_check.await_pages(address)
    with served(0.2, 0.9) as address:
        assert not capture_check.await_pages(address)


def test_a_server_without_waiting_pages_reports_a_whole_site() -> None:
    assert json.loads(PagesPending().describe())["share"] == 1


def test_a_difference_is_reported_loudly_now_and_at_the_next_start(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from maintaining import captures

    falsify(cache)
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(cache))
    monkeypatch.setattr(capture_check, "ROOT", project)
    monkeypatch.setattr(capture_check.signal, "signal", lambda *_: None)
    with served(*[1.0] * 9) as address:
        capture_check.main(address)
    line = f"{fetched_captures.ALARM}: the program `double` for cpu: memory (on docs/index.md, "
    assert line in capsys.readouterr().err
    captures.fetch_captures(project, cache, "none.json")
    assert line in capsys.readouterr().err
    assert read_record(cache).unchecked == []
