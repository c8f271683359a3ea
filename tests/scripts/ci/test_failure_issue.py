"""A failed scheduled run opens or updates one issue for its workflow, and a successful one closes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")

# Answers as GitHub's command line does, and stores the issues and comments in a file.
GH = f"""#!/bin/sh
"exec" "{sys.executable}" "$0" "$@"
import json, pathlib, sys
store = pathlib.Path(__file__).with_name("issues.json")
issues = json.loads(store.read_text())
_, _, method, path, *options = sys.argv[1:]
fields = dict(option.split("=", 1) for option in options if option != "--raw-field")
if issues is None:
    sys.exit("gh: Issues has been disabled in this repository. (HTTP 410)")
place = path.removeprefix("repos/owner/name/issues").strip("/").split("/")
if method == "GET":
    creator = fields["creator"]
    answer = [issue for issue in issues if issue["state"] == fields["state"] and issue["creator"] == creator]
elif place == [""]:
    answer = {{"number": len(issues) + 1, "state": "open", "creator": "github-actions[bot]", "comments": [], **fields}}
    issues.append(answer)
elif place[1:] == ["comments"]:
    answer = issues[int(place[0]) - 1]
    answer["comments"].append(fields["body"])
else:
    answer = issues[int(place[0]) - 1]
    answer.update(fields)
store.write_text(json.dumps(issues))
print(json.dumps(answer))
"""


@dataclass
class Service:
    """A service that stores the issues of one repository.

    Attributes:
        folder: The folder of its command line.
    """

    folder: Path

    def report(self, conclusion: str, workflow: str = "Nightly", run: int = 1) -> str:
        """Run `scripts/ci/failure_issue` for a completed run, and return its message."""
        environment = os.environ | {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "REPOSITORY": "owner/name",
            "WORKFLOW": workflow,
            "CONCLUSION": conclusion,
            "COMMIT": "abc123",
            "RUN_URL": f"https://host/runs/{run}",
        }
        command = ["bash", str(ROOT / "scripts" / "ci" / "failure_issue")]
        result = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout.removeprefix("failure_issue: ").strip()

    @property
    def issues(self) -> list[dict[str, Any]]:
        """The issues, with their comments."""
        issues: list[dict[str, Any]] = json.loads((self.folder / "issues.json").read_text(encoding="utf-8"))
        return issues

    def store(self, issues: list[dict[str, Any]] | None) -> None:
        """Replace the issues; None disables them."""
        (self.folder / "issues.json").write_text(json.dumps(issues), encoding="utf-8")


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A service without issues."""
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    service = Service(tmp_path)
    service.store([])
    return service


def test_the_first_failure_opens_an_issue_that_links_to_the_run(service: Service) -> None:
    assert service.report("failure") == "opened #1: Nightly failed"
    [issue] = service.issues
    assert issue["title"] == "The workflow Nightly fails"
    assert "[This run](https://host/runs/1) of the workflow *Nightly* failed at abc123." in issue["body"]
    assert issue["comments"] == []


def test_each_further_failure_adds_a_comment_to_the_same_issue(service: Service) -> None:
    service.report("failure", run=1)
    assert service.report("timed_out", run=2) == "commented on #1: Nightly failed again"
    assert service.report("cancelled", run=3) == "commented on #1: Nightly failed again"
    [issue] = service.issues
    assert [comment.partition(")")[0] for comment in issue["comments"]] == [
        "[This run](https://host/runs/2",
        "[This run](https://host/runs/3",
    ]


def test_a_successful_run_closes_the_issue_with_a_comment_and_the_next_failure_opens_another(service: Service) -> None:
    service.report("failure", run=1)
    assert service.report("success", run=2) == "closed #1: Nightly succeeded"
    [issue] = service.issues
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert issue["comments"][0].startswith("[This run](https://host/runs/2) of the workflow *Nightly* succeeded")
    assert service.report("failure", run=3) == "opened #2: Nightly failed"


def test_a_successful_run_without_an_issue_writes_nothing(service: Service) -> None:
    assert service.report("success") == "Nightly succeeded and has no open issue"
    assert service.issues == []


def test_a_skipped_run_neither_opens_nor_closes_an_issue(service: Service) -> None:
    assert service.report("skipped") == "the run of Nightly ended as skipped: nothing to report"
    service.report("failure")
    service.report("skipped")
    assert [(issue["state"], issue["comments"]) for issue in service.issues] == [("open", [])]


def test_each_workflow_has_an_issue_of_its_own(service: Service) -> None:
    service.report("failure", workflow="Nightly")
    assert service.report("failure", workflow="Nightly links") == "opened #2: Nightly links failed"
    assert service.report("success", workflow="Nightly") == "closed #1: Nightly succeeded"
    assert [issue["state"] for issue in service.issues] == ["closed", "open"]


def test_an_issue_that_a_person_opened_is_left_alone(service: Service) -> None:
    service.report("failure")
    [issue] = service.issues
    service.store([issue | {"creator": "somebody"}])
    assert service.report("success") == "Nightly succeeded and has no open issue"
    assert service.report("failure") == "opened #2: Nightly failed"


def test_a_repository_without_issues_stays_green(service: Service) -> None:
    service.store(None)
    assert service.report("failure") == "this repository has no issues, so nothing is reported"
