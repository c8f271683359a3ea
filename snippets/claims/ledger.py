"""The claims with the findings of their checks, which `judge_claims` runs."""

from __future__ import annotations

import importlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.declared import CHAPTERS, Claim, ClaimError, read_claims
from claims.finding import Verdict
from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.finding import Finding


@dataclass(frozen=True)
class Entry:
    """A claim with its finding.

    Attributes:
        claim: The claim.
        finding: The finding of its check, or None if no check ran.
        missing: The error if a target is missing on this machine, or None.
    """

    claim: Claim
    finding: Finding | None = None
    missing: TargetUnavailableError | None = None

    @property
    def gap(self) -> str:
        """The reason why its check could not run on this machine, or an empty string."""
        return self.missing.reason if self.missing else ""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the check; without a check, the declared verdict."""
        if self.finding is None:
            return self.claim.verdict
        return self.finding.judge(once=bool(self.claim.once))

    def list_cases(self) -> tuple[str, ...]:
        """Return the names of the cases in which a claim that depends on the case holds, in order; for others, ()."""
        if self.finding is None or self.verdict not in {Verdict.BY_TARGET, Verdict.BY_CASE}:
            return ()
        return tuple(name for name, case in self.finding.cases.items() if case.holds)


@dataclass(frozen=True)
class ClaimLedger:
    """All claims with their verdicts."""

    entries: tuple[Entry, ...]

    def checked(self) -> int:
        """Return the number of claims whose check ran on this machine."""
        return sum(entry.finding is not None for entry in self.entries)

    def unchecked(self) -> int:
        """Return the number of claims for which no check is declared."""
        return sum(not entry.claim.check for entry in self.entries)

    def verdicts(self, *, checked: bool = True) -> Counter[Verdict]:
        """Return the number of claims by verdict, among those that a check decided or among the others."""
        return Counter(entry.verdict for entry in self.entries if (entry.finding is not None) is checked)

    def chapter(self, name: str) -> tuple[Entry, ...]:
        """Return the entries of one chapter in order."""
        return tuple(entry for entry in self.entries if entry.claim.chapter == name)

    def find(self, identity: str) -> Finding:
        """Return the finding of a claim's check.

        Raises:
            ClaimError: There is no such claim, or it has no check.
            TargetUnavailableError: Its check could not run on this machine.
        """
        entry = next((entry for entry in self.entries if entry.claim.id == identity), None)
        if entry and entry.missing:
            raise entry.missing
        if entry is None or entry.finding is None:
            message = f"no check decides a claim {identity!r}"
            raise ClaimError(message)
        return entry.finding

    def heard(self, how: str, chapter: str = "") -> tuple[Entry, ...]:
        """Return the entries of claims with the prevalence `how`, one of `HEARD`, in all chapters or in one."""
        entries = self.chapter(chapter) if chapter else self.entries
        return tuple(entry for entry in entries if entry.claim.heard == how)

    def chapters(self) -> dict[str, tuple[Entry, ...]]:
        """Return the entries by the name of their chapter, in the order of the chapters, without empty chapters."""
        return {name: entries for name in CHAPTERS if (entries := self.chapter(name))}


def judge_claims(claims: Iterable[Claim] | None = None) -> ClaimLedger:
    """Run the check of every claim, by default of those in the file, and return the claims with their findings.

    Raises:
        ClaimError: The verdict of a check differs from the declared one, or a check failed to run;
            the message lists each such claim, with file and line of its declaration.
    """
    entries = []
    wrong = []
    findings: dict[tuple[str, tuple[int, ...]], Finding] = {}
    for claim in read_claims() if claims is None else claims:
        try:
            entry = check_claim(claim, findings)
        except TargetUnavailableError as error:
            # The declared verdict stands, and the card shows why the check did not run.
            entry = Entry(claim, missing=error)
        except Exception as error:  # noqa: BLE001 - whatever a check raises, it did not decide the claim
            wrong.append(f"{claim.place}: {claim.id}: {claim.check} raised {type(error).__name__}: {error}")
            # The remaining claims are still checked, so that one error lists every wrong claim.
            continue
        if entry.verdict != claim.verdict:
            wrong.append(f"{claim.place}: {claim.id}: declared {claim.verdict}, {describe_verdict(entry)}")
        elif entry.finding and entry.list_cases() != claim.where:
            wrong.append(
                f"{claim.place}: {claim.id}: declared to hold for {list(claim.where)}, {describe_verdict(entry)}"
            )
        entries.append(entry)
    if wrong:
        raise ClaimError("\n".join(wrong))
    return ClaimLedger(tuple(entries))


def check_claim(claim: Claim, findings: dict[tuple[str, tuple[int, ...]], Finding] | None = None) -> Entry:
    """Return the entry of a claim: run its check, unless it has none or its finding is known.

    Args:
        claim: The claim.
        findings: The findings so far, by check and numbers; this one is added.
    """
    if not claim.check:
        return Entry(claim)
    findings = {} if findings is None else findings
    # Several claims share a check, which runs once for each set of numbers.
    key = (claim.check, claim.said)
    if key not in findings:
        module, _, function = claim.check.partition(".")
        findings[key] = getattr(importlib.import_module(f"claims.{module}"), function)(*claim.said)
    return Entry(claim, findings[key])


def describe_verdict(entry: Entry) -> str:
    """Return the verdict and the evidence of an entry's check in words, or `no check ran`."""
    if entry.finding is None:
        return "no check ran"
    descriptions = [f"{name or 'found'}: {case.found} ({case.holds})" for name, case in entry.finding.cases.items()]
    if entry.finding.reading:
        descriptions.append(f"implication: {entry.finding.reading.found} ({entry.finding.reading.holds})")
    return f"{entry.claim.check} found {entry.verdict}: {'; '.join(descriptions)}"
