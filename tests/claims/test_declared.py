"""The declared claims: complete, distinct, and each linked to the section that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claims.declared import CHAPTERS, FILE, ClaimError, read_claims
from claims.finding import Verdict
from lint import typed_numbers

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLAIMS = read_claims()
GOOD = """
[water-is-wet]
chapter = "fusion"
claim = "Water is wet."
truth = "It is."
verdict = "true"
check = "fusion.layer_is_one_kernel"
"""


def test_every_claim_is_declared_once_under_a_name_of_words() -> None:
    assert len(CLAIMS) == len({claim.claim for claim in CLAIMS})
    assert [claim.id for claim in CLAIMS if not re.fullmatch(r"[a-z]+(?:-[a-z]+)+|pmap", claim.id)] == []


def test_ten_claims_are_plotted_and_sixty_to_eighty_listed() -> None:
    sayings = [claim.heard for claim in CLAIMS if claim.heard]
    assert sayings.count("everywhere") == 10
    assert 60 <= len(sayings) <= 80


def test_every_chapter_has_claims() -> None:
    assert {claim.chapter for claim in CLAIMS} == set(CHAPTERS)


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.shown], ids=lambda claim: claim.id)
def test_a_claim_links_to_an_existing_section(claim: object) -> None:
    page, _, anchor = claim.shown.partition("#")  # type: ignore[attr-defined]  # each is a claim
    text = (DOCS / page).read_text(encoding="utf-8")
    assert re.search(rf"^##+ .*\{{[^}}]*#{re.escape(anchor)}[ }}]", text, re.MULTILINE), (
        f"{page} has no section {anchor!r}"
    )


def test_the_line_of_a_claim_is_that_of_its_declaration() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert [lines[claim.line - 1] for claim in CLAIMS] == [f"[{claim.id}]" for claim in CLAIMS]


def test_no_number_is_typed_into_a_true_statement() -> None:
    numbers = [
        fault for claim in CLAIMS for fault in typed_numbers.check_text(claim.truth, f"{claim.place} {claim.id}")
    ]
    assert [str(fault) for fault in numbers] == []


def test_a_claim_that_depends_on_the_case_lists_its_cases_unless_it_is_a_question() -> None:
    depending = {Verdict.BY_TARGET, Verdict.BY_CASE}
    unsaid = [
        claim.id
        for claim in CLAIMS
        if claim.check and claim.verdict in depending and not claim.where and not claim.claim.endswith("?")
    ]
    assert unsaid == []
    assert [claim.id for claim in CLAIMS if claim.where and claim.verdict not in depending] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"true"', '"maybe"'), "no verdict 'maybe'"),
        (('"fusion"', '"fission"'), "no chapter 'fission'"),
        (('truth = "It is."\n', ""), "truth is missing"),
        (("truth", "thruth"), "unknown field thruth"),
        (('check = "fusion.layer_is_one_kernel"\n', ""), "needs a source"),
        (('"true"', '"not testable here"'), "a claim with a check cannot be"),
        (('"true"', '"outdated"'), "outdated if and only if `once`"),
        (("verdict", 'heard = "daily"\nverdict'), "unknown value heard = 'daily'"),
        (
            ('check = "fusion.layer_is_one_kernel"', 'heard = "everywhere"\nsource = "https://example.org/"'),
            "needs a check",
        ),
    ],
)
def test_the_error_for_a_wrong_declaration_contains_file_and_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(GOOD.replace(*change), encoding="utf-8")
    with pytest.raises(ClaimError, match=rf"^docs/data/claims\.toml:2: water-is-wet: .*{re.escape(message)}"):
        read_claims(file)
