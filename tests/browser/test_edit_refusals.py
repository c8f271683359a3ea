"""Only a page of a server's own lets it run an edit, and the published site holds nothing of that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from . import editing
from .host import serve
from .waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from .editing import Served

THREE = editing.PROGRAM.replace("2 *", "3 *")


def ask(edited_site: Served, what: str, headers: dict[str, str], body: Any = None) -> int:  # noqa: ANN401 - whatever JSON holds
    """Return what the server answers to a request, by its number."""
    asked = {"client": "test", "page": "index.md", "file": "snippets/programs/toy.py", "text": THREE}
    data = body if isinstance(body, bytes) else json.dumps({**asked, **(body or {})}).encode()
    request = urllib.request.Request(f"{edited_site.address}/edit/{what}", data, headers)  # noqa: S310 - this machine
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - this machine
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def find_headers(edited_site: Served) -> dict[str, str]:
    with urllib.request.urlopen(edited_site.address, timeout=10) as answer:  # noqa: S310 - this machine
        token = re.search(r'name="edit-token" content="([^"]+)"', answer.read().decode())
    assert token
    return {"Content-Type": "application/json", "X-Edit-Token": token[1], "Origin": edited_site.address}


def test_who_has_the_token_of_the_page_is_answered(edited_site: Served) -> None:
    assert ask(edited_site, "run", find_headers(edited_site)) == 200


@pytest.mark.parametrize(
    "change",
    [
        {"X-Edit-Token": ""},
        {"X-Edit-Token": "guessed"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
    ],
    ids=str,
)
def test_a_page_of_another_site_makes_nothing_run(edited_site: Served, change: dict[str, str]) -> None:
    assert ask(edited_site, "run", {**find_headers(edited_site), **change}) in {403, 415}


@pytest.mark.parametrize(
    "body",
    [
        {"file": "snippets/secret.py"},
        {"file": "../secret.py"},
        {"file": "snippets/programs/../secret.py"},
        {"file": "/etc/passwd"},
        {"page": "gone.md"},
        {"client": "../../x"},
        {"text": "x" * 2**20},
        {"text": 7},
        b"[1]",
        b"no JSON",
    ],
    ids=lambda body: str(body)[:40],
)
def test_nothing_is_run_but_a_program_that_the_page_names(edited_site: Served, body: Any) -> None:  # noqa: ANN401 - as `ask` takes it
    assert ask(edited_site, "run", find_headers(edited_site), body) in {400, 404, 413}


def test_another_site_cannot_make_a_browser_run_code(browser: Browser, edited_site: Served, tmp_path: Path) -> None:
    made = edited_site.root / "made"
    evil = f"""<script>
      const text = "open({str(made)!r}, 'w')"
      const body = JSON.stringify({{ client: "evil", page: "index.md", file: "snippets/programs/toy.py", text }})
      const send = (headers) =>
        fetch("{edited_site.address}/edit/run", {{ method: "POST", headers, body }}).then(() => "sent", String)
      Promise.all([send({{}}), send({{ "Content-Type": "application/json", "X-Edit-Token": "guessed" }}),
                   fetch("{edited_site.address}").then((answer) => answer.text()).catch(String)])
        .then((told) => (document.title = JSON.stringify(told)))
    </script>"""
    (tmp_path / "index.html").write_text(evil, encoding="utf-8")
    with serve(tmp_path) as other:
        page = browser.new_page()
        page.goto(f"{other.address}/index.html")
        wait_until(page, "() => document.title.startsWith('[')")
        told = json.loads(page.title())
        page.close()
    assert "edit-token" not in told[2]
    assert not made.exists()


def test_the_published_site_holds_nothing_of_it(tmp_path: Path) -> None:
    editing.write(tmp_path)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=editing.environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    built = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    held = [path.name for path in built if path.suffix in {".html", ".js", ".css"}]
    assert "index.html" in held
    assert [
        path for path in built if path.name in {"edit.js", "page_parts.js", "program_editor.js", "codemirror.js"}
    ] == []
    texts = [path.read_text(encoding="utf-8") for path in built if path.suffix in {".html", ".js", ".css"}]
    assert [text for text in texts if "edit-token" in text or "/edit/edit" in text or "edit: content" in text] == []
