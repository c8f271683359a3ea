"""External links are requested politely, and dead ones are reported with file and line."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING

import pytest
import urllib3

from ci import addresses, links
from ci.addresses import Link
from ci.links import Pauses, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")

NOTHING = Settings({}, {})
NO_PAUSE = Pauses(requests=0, rounds=0)


@dataclass
class Host:
    """A local web server and the requests that it received.

    Attributes:
        address: The address that its paths follow.
        requests: The method and path of each request, in order.
        clients: The names of the clients.
        most_at_once: The largest number of requests that it answered at the same time.
    """

    address: str = ""
    requests: list[str] = field(default_factory=list)
    clients: set[str] = field(default_factory=set)
    most_at_once: int = 0


@pytest.fixture
def host() -> Iterator[Host]:
    """A host whose paths begin with the status that they answer; `/get-only` answers 405 to HEAD."""
    host, lock, current = Host(), Lock(), Counter[str]()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            with lock:
                current["requests"] += 1
                host.most_at_once = max(host.most_at_once, current["requests"])
                host.requests.append(f"{self.command} {self.path}")
                host.clients.add(self.headers["User-Agent"])
            time.sleep(0.01)
            with lock:
                current["requests"] -= 1
            self.send_response(self.find_status())
            if self.path == "/301":
                self.send_header("Location", "/200/moved")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET = answer  # noqa: N815 - names that the standard library requires

        def find_status(self) -> int:
            if self.path == "/get-only":
                return 405 if self.command == "HEAD" else 200
            if self.path == "/recovers":
                return 503 if host.requests.count("GET /recovers") == 0 else 200
            return int(self.path.split("/")[1])

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host.address = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield host
        server.shutdown()


def report(host: Host, *paths: str, settings: Settings = NOTHING) -> tuple[list[str], bool]:
    """Check one link to each path, on lines 1, 2, ... of a page, and return the report without the host's address."""
    page = [Link(host.address + path, f"docs/page.md:{line}") for line, path in enumerate(paths, 1)]
    lines, is_whole = links.report(page, settings, NO_PAUSE)
    return [line.replace(host.address, "") for line in lines], is_whole


def test_a_dead_link_is_reported_with_its_file_line_and_answer(host: Host) -> None:
    lines, is_whole = report(host, "/200", "/404", "/410", "/404")
    assert lines[:-1] == [
        "2 of 3 external addresses are dead.",
        "docs/page.md:2: /404 answers 404 Not Found",
        "docs/page.md:3: /410 answers 410 Gone",
        "docs/page.md:4: /404 answers 404 Not Found",
    ]
    assert not is_whole


def test_working_links_are_requested_once_and_without_their_pages(host: Host) -> None:
    lines, is_whole = report(host, "/200/a", "/200/b", "/200/a")
    assert (lines[0], is_whole) == ("None of 2 external addresses are dead.", True)
    assert host.requests == ["HEAD /200/a", "HEAD /200/b"]


def test_a_page_that_refuses_a_request_for_its_headers_is_requested_whole(host: Host) -> None:
    assert report(host, "/get-only")[1]
    assert host.requests == ["HEAD /get-only", "GET /get-only"]


def test_an_address_that_fails_once_works_on_the_second_try(host: Host) -> None:
    assert report(host, "/recovers", "/200")[1]
    assert host.requests == ["HEAD /200", "HEAD /recovers", "GET /recovers"]


def test_a_dead_address_is_tried_twice_and_not_more(host: Host) -> None:
    report(host, "/500")
    assert host.requests == ["HEAD /500", "GET /500"]


def test_a_redirection_is_followed(host: Host) -> None:
    assert report(host, "/301")[1]
    assert host.requests == ["HEAD /301", "HEAD /200/moved"]


def test_a_host_that_limits_requests_gets_no_further_ones_and_its_links_are_not_dead(host: Host) -> None:
    lines, is_whole = report(host, "/200", "/429", "/500")
    assert host.requests == ["HEAD /200", "HEAD /429", "GET /429"]
    assert is_whole
    assert lines[1:3] == [
        "/429 could not be checked: the host limits requests",
        "/500 could not be checked: the host limits requests",
    ]


def test_a_host_that_does_not_answer_is_reported() -> None:
    lines, is_whole = links.report([Link("http://127.0.0.1:9/", "README.md:1")], NOTHING, NO_PAUSE)
    assert lines[0] == "1 of 1 external addresses is dead."
    assert lines[1].startswith("README.md:1: http://127.0.0.1:9/ does not answer: ")
    assert "refused" in lines[1]
    assert not is_whole


def test_a_host_that_answers_too_late_is_reported(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "TIMEOUT", urllib3.Timeout(connect=1, read=0.001))
    lines, is_whole = report(host, "/200")
    assert "Read timed out" in lines[1]
    assert not is_whole


def test_a_host_gets_one_request_at_a_time_from_a_client_with_a_name(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://host")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    report(host, *(f"/200/{number}" for number in range(20)))
    assert len(host.requests) == 20
    assert host.most_at_once == 1
    assert host.clients == {"inside-xla-links/1 (weekly check of documentation links; +https://host/owner/name)"}


def test_listed_hosts_and_names_are_not_requested(host: Host) -> None:
    settings = Settings({"127.0.0.1": "it refuses programs"}, {})
    lines, is_whole = report(host, "/404", settings=settings)
    assert (lines[-1].partition(";")[0], is_whole) == ("Addresses that are not requested: 1", True)
    assert host.requests == []
    settings = Settings({"host.org": "it refuses programs"}, {"http://name.org/a": "a name"})
    assert not settings.is_requested("http://name.org/a")
    assert settings.is_requested("http://name.org/b")
    assert not settings.is_requested("https://pages.host.org/")
    assert settings.is_requested("https://otherhost.org/")


def test_each_exception_has_a_reason_and_applies_to_a_link() -> None:
    settings = links.read_settings()
    linked_addresses = {link.address for link in addresses.find_links(addresses.read_linking_texts())}
    assert [name for name, reason in {**settings.hosts, **settings.names}.items() if len(reason) < 10] == []
    assert settings.names.keys() <= linked_addresses
    unused = [
        host for host in settings.hosts if all(Settings({host: ""}, {}).is_requested(link) for link in linked_addresses)
    ]
    assert unused == []


def test_links_are_read_from_pages_data_messages_and_phases() -> None:
    places = {link.place.partition(":")[0] for link in addresses.find_links(addresses.read_linking_texts())}
    assert {
        "README.md",
        "CHANGELOG.md",
        "docs/next.md",
        "docs/data/claims.toml",
        "docs/practice/capstone.py",
        "snippets/xla_inspect/terminal.py",
        "snippets/xla_inspect/practice/texts/flags.md",
        "phase jaxpr",
    } <= places


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("See [it](https://a.org/b#c).", "https://a.org/b"),
        ("See https://a.org/b, and more.", "https://a.org/b"),
        ('source = "https://a.org/b"', "https://a.org/b"),
        ("<https://a.org/b>", "https://a.org/b"),
        ("`https://a.org/b`", "https://a.org/b"),
    ],
)
def test_an_address_ends_where_its_notation_ends_and_has_no_fragment(text: str, link: str) -> None:
    assert addresses.find_links([("docs/a.md", f"\n\n{text}")]) == [Link(link, "docs/a.md:3")]


@pytest.mark.parametrize("text", ["http://127.0.0.1:8000/", "http://localhost/", "https://{host}/a", "http://a.org/$x"])
def test_local_addresses_and_templates_are_not_links(text: str) -> None:
    assert addresses.find_links([("docs/a.md", text)]) == []
