"""The check of the external links: each address is requested, and each dead one is reported with its places.

The client is polite. It sends one request at a time to a host, with a pause in between. It asks for the headers first,
and requests a page only if that fails, in a second round. If a host answers 429 (too many requests), the client sends
no further request to this host in the same round.
"""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import urllib3

from ci import addresses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

SETTINGS = Path(__file__).with_suffix(".toml")
HOSTS_AT_ONCE = 8
TIMEOUT = urllib3.Timeout(connect=10, read=20)
"""The longest wait for a connection and for an answer, in seconds."""
REDIRECTIONS = urllib3.Retry(total=None, connect=0, read=0, status=0, redirect=5)


@dataclass(frozen=True)
class Pauses:
    """The pauses of the client, in seconds.

    Attributes:
        requests: The pause between two requests to a host.
        rounds: The pause before the second round, in which a host can recover.
    """

    requests: float = 1
    rounds: float = 60


@dataclass(frozen=True)
class Settings:
    """The addresses that are not requested, with the reasons.

    Attributes:
        hosts: The hosts that refuse programs, with their subdomains.
        names: The addresses that only name something.
    """

    hosts: Mapping[str, str]
    names: Mapping[str, str]

    def is_requested(self, address: str) -> bool:
        """Return whether an address is requested."""
        host = urlsplit(address).hostname or ""
        return address not in self.names and not any(f".{host}".endswith(f".{refusing}") for refusing in self.hosts)


@dataclass(frozen=True)
class Problem:
    """The reason why an address did not lead to a page.

    Attributes:
        text: The reason, as the rest of a sentence that begins with the address.
        is_dead: Whether the link is dead. If a host limits requests, this remains unknown.
    """

    text: str
    is_dead: bool = True


LIMITED = Problem("could not be checked: the host limits requests", is_dead=False)


def read_settings() -> Settings:
    """Read `links.toml`."""
    return Settings(**tomllib.loads(SETTINGS.read_text(encoding="utf-8")))


def find_problem(pool: urllib3.PoolManager, method: str, address: str) -> Problem | None:
    """Request an address, and return its problem, or None if it leads to a page."""
    try:
        response = pool.request(method, address, preload_content=False)
    except urllib3.exceptions.HTTPError as error:
        return Problem(f"does not answer: {getattr(error, 'reason', None) or error}")
    response.close()  # the text of the page is not read
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return LIMITED
    if response.status >= HTTPStatus.BAD_REQUEST:
        return Problem(f"answers {response.status} {response.reason or ''}".rstrip())
    return None


def find_problems(requested: Iterable[str], pauses: Pauses) -> dict[str, Problem]:
    """Return the problems of addresses that led to no page in either round, by address."""
    with (
        urllib3.PoolManager(headers={"User-Agent": _name_client()}, retries=REDIRECTIONS, timeout=TIMEOUT) as pool,
        ThreadPoolExecutor(HOSTS_AT_ONCE) as threads,
    ):

        def run_round(method: str, round_addresses: Collection[str]) -> dict[str, Problem]:
            by_host: dict[str, list[str]] = defaultdict(list)
            for address in sorted(round_addresses):
                by_host[urlsplit(address).netloc].append(address)
            # The host with the most addresses takes the longest, so it begins first.
            hosts = sorted(by_host.values(), key=len, reverse=True)
            results = threads.map(lambda host: _request_host(pool, method, host, pauses.requests), hosts)
            return {address: problem for problems in results for address, problem in problems.items()}

        problems = run_round("HEAD", set(requested))
        if problems:
            time.sleep(pauses.rounds)
            # Some servers answer only requests for the whole page.
            problems = run_round("GET", problems)
        return problems


def _request_host(pool: urllib3.PoolManager, method: str, host: Sequence[str], pause: float) -> dict[str, Problem]:
    """Request the addresses of one host in turn, and return the problems, by address; a 429 ends the requests."""
    problems: dict[str, Problem] = {}
    for address in host:
        if LIMITED in problems.values():
            problems[address] = LIMITED
        elif problem := find_problem(pool, method, address):
            problems[address] = problem
        time.sleep(pause)
    return problems


def _name_client() -> str:
    """Return the name under which requests are sent, by which the owner of a host can find the project."""
    repository = "/".join(filter(None, (os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY"))))
    return f"inside-xla-links/1 (weekly check of documentation links{repository and f'; +{repository}'})"


def report(links: Sequence[addresses.Link], settings: Settings, pauses: Pauses) -> tuple[list[str], bool]:
    """Request the addresses of links, and return the lines of the report and whether no link is dead."""
    requested = {link.address for link in links if settings.is_requested(link.address)}
    problems = find_problems(requested, pauses)
    dead = {address for address, problem in problems.items() if problem.is_dead}
    verb = "is" if len(dead) == 1 else "are"
    lines = [f"{len(dead) or 'None'} of {len(requested)} external addresses {verb} dead."]
    lines += [f"{link.place}: {link.address} {problems[link.address].text}" for link in links if link.address in dead]
    lines += [f"{address} {problem.text}" for address, problem in problems.items() if address not in dead]
    omitted = len({link.address for link in links}) - len(requested)
    lines.append(f"Addresses that are not requested: {omitted}; scripts/ci/{SETTINGS.name} gives the reasons.")
    return lines, not dead


def main() -> int:
    """Check the links of the project, and return the exit code."""
    lines, is_whole = report(addresses.find_links(addresses.read_linking_texts()), read_settings(), Pauses())
    print(*lines, sep="\n")
    if is_whole:
        return 0
    print("Correct these links. If a browser shows the page, add its host, with the reason, to that file.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
