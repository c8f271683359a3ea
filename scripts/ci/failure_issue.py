"""The issue that reports the failures of a workflow that runs on a schedule.

A workflow has at most one open issue, which a mark in its text identifies. The first failed run opens the issue, each
further failed run adds a comment, and the next successful run closes it with a comment.

Needs only the standard library and `gh`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ci.github_api import GitHubError, call

FAILED = {
    "failure": "failed",
    "timed_out": "exceeded its time limit",
    "startup_failure": "could not start",
    "cancelled": "was cancelled, by a person or by a job's time limit",
}
"""The verbs for the conclusions that are failures. A `skipped` run, for example, neither fails nor succeeds."""
AUTHOR = "github-actions[bot]"
"""The user that writes with a workflow's token. Anyone could write the mark, so only its issues count."""


@dataclass(frozen=True)
class Run:
    """A completed run of a workflow.

    Attributes:
        workflow: The workflow's name.
        conclusion: The result, in GitHub's words.
        commit: The hash of the commit that the run used.
        address: The address of the run's page.
    """

    workflow: str
    conclusion: str
    commit: str
    address: str

    @property
    def mark(self) -> str:
        """The first line of the workflow's issue, which GitHub does not show."""
        return f"<!-- failed workflow: {self.workflow} -->"

    @property
    def sentence(self) -> str:
        """The result of the run, with links to the run and the commit."""
        verb = FAILED.get(self.conclusion, "succeeded")
        return f"[This run]({self.address}) of the workflow *{self.workflow}* {verb} at {self.commit}."


def find_issue(repository: str, mark: str) -> int | None:
    """Return the number of the oldest open issue by `AUTHOR` whose first line is a mark, or None."""
    issues = call("GET", f"repos/{repository}/issues", state="open", creator=AUTHOR, per_page="100")
    numbers = [int(issue["number"]) for issue in issues if (issue["body"] or "").splitlines()[:1] == [mark]]
    return min(numbers, default=None)


def update_issue(repository: str, run: Run) -> str:
    """Open, update or close the workflow's issue, and return a message about it."""
    if run.conclusion not in {*FAILED, "success"}:
        return f"the run of {run.workflow} ended as {run.conclusion}: nothing to report"
    number = find_issue(repository, run.mark)
    if run.conclusion == "success":
        if number is None:
            return f"{run.workflow} succeeded and has no open issue"
        _comment(repository, number, f"{run.sentence} This issue is therefore closed.")
        call("PATCH", f"repos/{repository}/issues/{number}", state="closed", state_reason="completed")
        return f"closed #{number}: {run.workflow} succeeded"
    if number is not None:
        _comment(repository, number, run.sentence)
        return f"commented on #{number}: {run.workflow} failed again"
    body = (
        f"{run.mark}\n{run.sentence} The last lines of the failed job list its failed checks.\n\n"
        "Each further failure adds a comment here, and the next successful run closes this issue."
    )
    issue = call("POST", f"repos/{repository}/issues", title=f"The workflow {run.workflow} fails", body=body)
    return f"opened #{issue['number']}: {run.workflow} failed"


def _comment(repository: str, number: int, body: str) -> None:
    call("POST", f"repos/{repository}/issues/{number}/comments", body=body)


def main() -> int:
    """Report the run that the environment describes, and return the exit code."""
    try:
        repository = os.environ["REPOSITORY"]
        run = Run(*(os.environ[name] for name in ("WORKFLOW", "CONCLUSION", "COMMIT", "RUN_URL")))
    except KeyError as error:
        print(f"failure_issue: set {error.args[0]}, as the workflow failure.yml does", file=sys.stderr)
        return 1
    try:
        print("failure_issue:", update_issue(repository, run))
    except GitHubError as error:
        # A fork has no issues until its owner enables them, and GitHub then answers 410.
        if "HTTP 410" in str(error):
            print("failure_issue: this repository has no issues, so nothing is reported")
            return 0
        print(f"failure_issue: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
