"""Only requests from the page are answered."""

from __future__ import annotations

from email.message import Message

import pytest

from xla_inspect.play.request_checks import RefusedError, check_sender, find_length, read_edit

GOOD = {"Host": "127.0.0.1:8484", "X-Play-Token": "secret", "Origin": "http://127.0.0.1:8484"}


def make(**headers: str) -> Message:
    """Return headers: the valid ones, unless others are given."""
    message = Message()
    for name, value in {**GOOD, **{name.replace("_", "-"): value for name, value in headers.items()}}.items():
        message[name] = value
    return message


def test_requests_of_the_page_are_accepted() -> None:
    check_sender(make(), 8484, "secret", is_page=False)
    check_sender(make(Host="localhost:8484"), 8484, "secret", is_page=False)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test:8484"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"X_Play_Token": "other"},
        {"X_Play_Token": "é"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_requests_of_others_are_rejected(headers: dict[str, str]) -> None:
    with pytest.raises(RefusedError) as refused:
        check_sender(make(**headers), 8484, "secret", is_page=False)
    assert refused.value.status == 403


OPENED = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


def test_a_link_on_a_local_page_can_open_the_playground() -> None:
    check_sender(make(**OPENED), 8484, "secret", is_page=True)


@pytest.mark.parametrize(
    ("change", "is_page"),
    [
        ({}, False),
        ({"Sec_Fetch_Site": "cross-site"}, True),
        ({"Sec_Fetch_Mode": "cors"}, True),
        ({"Sec_Fetch_Dest": "iframe"}, True),
    ],
)
def test_a_local_page_can_neither_send_requests_nor_frame_the_playground(
    change: dict[str, str], *, is_page: bool
) -> None:
    with pytest.raises(RefusedError, match="another site"):
        check_sender(make(**OPENED | change), 8484, "secret", is_page=is_page)


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999", "1048577", "x", ""])
def test_an_invalid_or_excessive_length_is_rejected(length: str) -> None:
    with pytest.raises(RefusedError):
        find_length(make(Content_Length=length))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 1},
        {"code": "", "targets": "cpu"},
        {"code": "", "targets": ["nothing"]},
        {"code": "", "targets": ["cpu"] * 99},
        {"code": "", "options": []},
        {"code": "", "options": {"mesh": 3}},
        {"code": "", "options": {"flags": {"a": {}}}},
        {"code": "", "options": {"static": [None]}},
    ],
)
def test_an_edit_in_another_form_is_rejected(body: dict[str, object]) -> None:
    with pytest.raises(RefusedError):
        read_edit(body, {"cpu"})
