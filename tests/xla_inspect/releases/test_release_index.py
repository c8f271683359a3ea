"""The releases between two given ones, and messages about invalid ones."""

from __future__ import annotations

import pytest

from xla_inspect.releases import ReleaseError, choose_span, list_requirements

KNOWN = ("0.8.3", "0.9.0", "0.9.0.1", "0.9.2", "0.10.0", "0.10.1", "0.12.0.1")


def test_a_span_holds_both_ends_in_the_order_of_their_numbers() -> None:
    assert choose_span(KNOWN, "0.9.0.1", "0.10.1") == ("0.9.0.1", "0.9.2", "0.10.0", "0.10.1")


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("0.10.0", "0.9.2", "--from 0.10.0 is not before --to 0.9.2"),
        ("0.9.2", "0.9.2", "--from 0.9.2 is not before --to 0.9.2"),
        ("0.9.1", "0.10.0", r"--from 0\.9\.1: there is no such release.*\nthe nearest are .*0\.9\.2"),
        ("0.9.2", "7.0", r"--to 7\.0: there is no such release.*\nthe nearest are 0\.12\.0\.1"),
        ("", "7.0", r"--to 7\.0: there is no such release"),
        ("latest", "0.9.2", "--from latest: there is no such release"),
    ],
)
def test_an_invalid_span_is_rejected_with_a_message(first: str, last: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        choose_span(KNOWN, first, last)


def test_each_release_gets_its_own_requirements() -> None:
    assert list_requirements("0.11.2", "tpu") == ("jax==0.11.2", "jaxlib<=0.11.2", "jax[tpu]==0.11.2")
    assert "jax-cuda13-plugin==0.9.2" in list_requirements("0.9.2", "gpu")
    assert "jax-cuda12-plugin==0.6.2" in list_requirements("0.6.2", "gpu")
    # An old release would be given the newest NumPy, under which it does not start.
    assert "numpy<2" in list_requirements("0.4.20")
    assert not any(requirement.startswith("numpy") for requirement in list_requirements("0.9.2"))
