"""The *Edit* link of a served page opens the playground; a page of another site cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from inside_xla import playground_hook
from inside_xla.playground_hook import MOST, Playgrounds

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "snippets/programs/gelu.py:gelu"
PLACE = (
    '<div class="program-edit" data-program="gelu" data-file="snippets/programs/gelu.py" data-function="gelu">'
    "<details>By a command.</details></div>"
)
HERE = {"HTTP_HOST": "127.0.0.1:8000"}


@pytest.fixture
def playgrounds() -> Iterator[Playgrounds]:
    playground_server = begin(ROOT)
    yield playground_server
    playground_server.end()


def begin(root: Path) -> Playgrounds:
    server: Any = SimpleNamespace(
        server_address=("127.0.0.1", 8000), get_app=lambda: lambda *_: [b"the site"], set_app=lambda _: None
    )
    playgrounds = Playgrounds(root)
    playgrounds.begin(server)
    return playgrounds


def ask(playgrounds: Playgrounds, path: str, **environ: str) -> tuple[int, dict[str, str], str]:
    answer: list[Any] = []
    body = playgrounds({"PATH_INFO": path, **HERE, **environ}, lambda *told: answer.extend(told))
    if not answer:
        return 200, {}, b"".join(body).decode()
    return int(answer[0].split()[0]), dict(answer[1]), b"".join(body).decode()


def read(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:  # noqa: S310 - a server of this test
        text: str = answer.read().decode()
        return text


def test_the_link_of_a_page_opens_the_playground_on_its_program(playgrounds: Playgrounds) -> None:
    content = playgrounds.link(PLACE)
    link = re.findall(r'<a href="([^"]*)"[^>]*>Edit</a>', content)
    assert link == [f"/play/{PROGRAM}"]
    assert "By a command." in content
    status, headers, _ = ask(playgrounds, link[0], HTTP_SEC_FETCH_SITE="same-origin")
    assert status == 303
    address = headers["Location"]
    token = re.findall(r'<meta name="play-token" content="([^"]+)"', read(address))[0]
    start = json.loads(read(f"{address}start", **{"X-Play-Token": token}))
    assert (start["file"], start["function"]) == ("gelu.py", "gelu")
    assert start["code"] == (ROOT / "snippets/programs/gelu.py").read_text(encoding="utf-8")
    assert ask(playgrounds, link[0])[1]["Location"] == address  # the one that runs
    playgrounds.end()
    with pytest.raises(OSError, match="refused"):
        read(address)


def test_a_program_of_no_page_opens_nothing(playgrounds: Playgrounds) -> None:
    assert ask(playgrounds, f"/play/{PROGRAM}")[::2] == (404, f"No page shows the program {PROGRAM!r}.")


@pytest.mark.parametrize(
    "environ", [{"HTTP_HOST": "example.com:8000"}, {"HTTP_HOST": ""}, {"HTTP_SEC_FETCH_SITE": "cross-site"}]
)
def test_another_site_or_machine_opens_nothing_and_gets_the_command(
    playgrounds: Playgrounds, environ: dict[str, str]
) -> None:
    playgrounds.link(PLACE)
    status, headers, text = ask(playgrounds, f"/play/{PROGRAM}", **environ)
    assert (status, "Location" in headers) == (403, False)
    assert text.endswith(f"xla-inspect play {PROGRAM}")


def test_other_links_are_answered_by_the_site(playgrounds: Playgrounds) -> None:
    assert ask(playgrounds, "/fusion/") == (200, {}, "the site")


def test_a_playground_that_does_not_start_is_reported(tmp_path: Path) -> None:
    playground_server = begin(tmp_path)  # where there is no such program
    playground_server.link(PLACE)
    status, _, text = ask(playground_server, f"/play/{PROGRAM}")
    assert (status, "did not start" in text) == (500, True)


def test_a_playground_ends_with_a_server_that_is_killed() -> None:
    code = f"""if True:
        import os, signal
        from pathlib import Path
        from inside_xla.playground_hook import Playgrounds
        print(Playgrounds(Path({str(ROOT)!r}))._open({PROGRAM!r}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert result.stdout.startswith("http://127.0.0.1:")
    end = time.monotonic() + 30
    while is_there(result.stdout.strip()):
        assert time.monotonic() < end
        time.sleep(0.1)


def is_there(address: str) -> bool:
    try:
        read(address)
    except OSError:
        return False
    return True


def test_one_playground_too_many_ends_the_oldest(playgrounds: Playgrounds, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def start(_: list[str], __: str, arguments: list[str], **___: object) -> SimpleNamespace:
        name = arguments[2]
        return SimpleNamespace(
            process=SimpleNamespace(poll=lambda: None),
            listen=lambda _: f"{name} is on http://127.0.0.1:1/{name} for you",
            end=lambda: ended.append(name),
        )

    monkeypatch.setattr(playground_hook, "Child", start)
    names = [f"p{number}.py:f" for number in range(MOST + 1)]
    for name in names:
        file, _, function = name.partition(":")
        playgrounds.link(f'<div class="program-edit" data-file="{file}" data-function="{function}">')
        assert ask(playgrounds, f"/play/{name}")[0] == 303
    assert ended == names[:1]


@pytest.mark.parametrize(("command", "is_linked"), [("serve", True), ("build", False)])
def test_the_published_site_has_no_link(command: str, *, is_linked: bool) -> None:
    playground_hook.on_startup(command)
    try:
        assert (playground_hook.on_page_content(PLACE) != PLACE) is is_linked
    finally:
        playground_hook.on_shutdown()
