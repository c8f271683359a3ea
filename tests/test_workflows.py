"""The workflow files are valid, have minimal rights, and call `scripts/`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from common import ROOT
from peers import records

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
NAMES = [path.name for path in WORKFLOWS]
SCRIPTS = Path(sys.executable).parent
EXAMPLES = sorted((ROOT / "snippets" / "budgets" / "workflows").glob("*.yml"))
"""The workflow files that readers copy."""
WRITERS = {"comment.yml", "failure.yml", "main.yml", "newest.yml", "publish.yml", "release.yml"}


def load(path: Path) -> dict[Any, Any]:
    """Read a workflow; YAML takes its key `on` for the truth value."""
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    workflow["on"] = workflow.pop(True)
    return workflow


def steps(path: Path) -> list[dict[str, Any]]:
    """Return the steps of all jobs."""
    return [step for job in load(path)["jobs"].values() for step in job.get("steps", [])]


def run(command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment, or skip where it has no wheel."""
    program = shutil.which(command, path=SCRIPTS)
    if program is None:
        pytest.skip(f"{command} has no wheel for this machine")
    return subprocess.run([program, *map(str, arguments)], check=False, capture_output=True, text=True)


def validate(*paths: Path, schema: str = "vendor.github-workflows") -> str:
    """Return the errors that the schema of such files reports, or an empty string."""
    result = run("check-jsonschema", "--builtin-schema", schema, *paths)
    return result.stdout if result.returncode else ""


def audit(*paths: Path) -> list[str]:
    """Return the names of zizmor's findings in its strictest mode."""
    result = run("zizmor", "--offline", "--no-progress", "--persona=auditor", "--format=plain", "--color=never", *paths)
    assert result.returncode in {0, 11, 12, 13, 14}, result.stderr  # from 11 on it tells how bad the worst finding is
    return re.findall(r"^\w+\[([\w-]+)\]", result.stdout, re.MULTILINE)


def test_there_is_a_workflow_for_each_event() -> None:
    events = {path.stem: set(load(path)["on"]) for path in WORKFLOWS}
    assert events == {
        "comment": {"workflow_run"},
        "failure": {"workflow_run"},
        "links": {"schedule", "workflow_dispatch"},
        "main": {"push", "workflow_dispatch"},
        "newest": {"schedule", "workflow_dispatch"},
        "nightly": {"schedule", "workflow_dispatch"},
        "peers": {"pull_request", "schedule", "workflow_dispatch"},
        "publish": {"workflow_call"},
        "pull-request": {"pull_request", "merge_group", "workflow_call"},
        "release": {"push"},
    }


def test_every_file_is_what_its_schema_says() -> None:
    assert validate(*WORKFLOWS, *EXAMPLES) == ""
    assert validate(GITHUB / "dependabot.yml", schema="vendor.dependabot") == ""


def test_an_audit_finds_nothing() -> None:
    assert audit(GITHUB) == []
    assert audit(*EXAMPLES) == []


def test_the_checkers_report_planted_errors(tmp_path: Path) -> None:
    """The tests above parse the output of both checkers; here each finds a planted fault."""
    path = tmp_path / ".github" / "workflows" / "main.yml"
    path.parent.mkdir(parents=True)
    text = (GITHUB / "workflows" / "main.yml").read_text(encoding="utf-8")
    path.write_text(text.replace("permissions: {}", "permissions: write-all"), encoding="utf-8")
    assert "excessive-permissions" in audit(path)
    path.write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert "run-on" in validate(path)


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_every_action_is_pinned_by_commit_with_its_version_beside_it(path: Path) -> None:
    uses = re.findall(r"uses: (?!\./)(.*)", path.read_text(encoding="utf-8"))
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_an_action_has_one_commit_wherever_it_is_used() -> None:
    found_commits: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *EXAMPLES):
        for owner, commit in re.findall(r"uses: (\w+/[\w-]+)[\w/-]*@(\S+)", path.read_text(encoding="utf-8")):
            found_commits.setdefault(owner, set()).add(commit)
    assert {owner: commits for owner, commits in found_commits.items() if len(commits) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_task_is_one_command_of_the_scripts(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    pattern = re.compile(r"(scripts/(?:(?:ci|maintaining)/)?[\w-]+)[^\n;&|]*")
    command_matches = [pattern.fullmatch(command) for command in commands]
    assert [
        command for command, command_match in zip(commands, command_matches, strict=True) if not command_match
    ] == []
    assert [
        command_match[1]
        for command_match in command_matches
        if command_match and not (ROOT / command_match[1]).is_file()
    ] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_no_job_has_a_right_that_is_not_its_own(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    rights = {right for job in workflow["jobs"].values() for right in job["permissions"].items()}
    assert path.name in WRITERS or rights == {("contents", "read")}
    assert "secrets." not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_jobs_that_compile_cannot_write(path: Path) -> None:
    """A job that installs packages or runs pages has a token that can only read."""
    compiling = re.compile(
        r"scripts/(?:ci/|maintaining/)?"
        r"(?:test|update|peers|drift|links|portable|frameworks|publish build|package build|newest try|captures pack)\b"
    )
    jobs = load(path)["jobs"].items()
    runs = {name: "\n".join(step.get("run", "") for step in job.get("steps", [])) for name, job in jobs}
    rights = {name: job["permissions"] for name, job in jobs if compiling.search(runs[name])}
    assert {name: right for name, right in rights.items() if right != {"contents": "read"}} == {}


def test_a_pull_request_runs_every_program_and_every_page_with_every_target_required() -> None:
    workflow = load(GITHUB / "workflows" / "pull-request.yml")
    commands = {step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step}
    alone = {f"scripts/test tests/{tests} --numprocesses=auto" for tests in ("programs", "site/test_pages.py")}
    assert {"scripts/test --all site", *alone} < commands
    assert workflow["env"]["REQUIRE_TARGETS"] == "all"


def test_a_pull_request_runs_every_part_of_all_tests() -> None:
    """The part `site` has the tests of no other part, so together the parts have every test."""
    script = (ROOT / "scripts" / "test").read_text(encoding="utf-8")
    parts = re.findall(r"(?m)^    (\w+)\)\s+(?:run_checks|check)\b", script)
    commands = [step["run"] for step in steps(GITHUB / "workflows" / "pull-request.yml") if "run" in step]
    assert parts == ["site", "tool", "rebuild"]
    assert {f"scripts/test --all {part}" for part in parts} <= {*commands}
    paths = [path for _, words in re.findall(r"(?m)^(TOOL|REBUILD)=\((.+)\)$", script) for path in words.split()]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(paths) == 5


def list_caches(path: Path) -> set[tuple[str, str, str]]:
    """Return action, path and key of each cache that a workflow uses."""
    return {
        (step["uses"].partition("@")[0], step["with"]["path"], step["with"]["key"])
        for step in steps(path)
        if step.get("uses", "").startswith("actions/cache")
    }


def test_pull_requests_start_from_the_packages_and_captures_of_main_and_store_none() -> None:
    stored = list_caches(GITHUB / "workflows" / "main.yml")
    restored = list_caches(GITHUB / "workflows" / "pull-request.yml")
    assert {path for _, path, _ in stored} == {".cache/xla_inspect", "~/.cache/uv"}
    assert restored == {("actions/cache/restore", path, key) for _, path, key in stored}
    jobs = load(GITHUB / "workflows" / "pull-request.yml")["jobs"]
    cached = {
        name for name, job in jobs.items() for step in job["steps"] if step.get("with", {}).get("path") == "~/.cache/uv"
    }
    assert cached == set(jobs) - {"all-green"}


def test_a_failure_of_each_scheduled_workflow_is_reported() -> None:
    report = load(GITHUB / "workflows" / "failure.yml")
    scheduled = {load(path)["name"] for path in WORKFLOWS if "schedule" in load(path)["on"]}
    assert {*report["on"]["workflow_run"]["workflows"]} == scheduled


def test_the_job_that_reports_a_failure_can_write_only_issues_and_runs_one_script() -> None:
    [job] = load(GITHUB / "workflows" / "failure.yml")["jobs"].values()
    assert job["permissions"] == {"contents": "read", "issues": "write"}
    assert [step.get("run", step.get("uses", "").partition("@")[0]) for step in job["steps"]] == [
        "actions/checkout",
        "scripts/ci/failure_issue",
    ]
    assert "ref" not in job["steps"][0]["with"]


def test_without_the_sites_address_nothing_is_published_and_a_sentence_gives_the_reason() -> None:
    """A fork has no address, and its runs succeed."""
    jobs = load(GITHUB / "workflows" / "publish.yml")["jobs"]
    conditions = {name: job.get("if") for name, job in jobs.items()}
    assert conditions == {
        "no-address": "vars.SITE_URL == ''",
        "build": "vars.SITE_URL != ''",
        "keep": None,
        "deploy": None,
    }
    assert jobs["no-address"]["steps"][-1]["run"] == "scripts/ci/publish nothing"
    assert {"build", "keep"} == find_needs(jobs, "deploy")
    users = {
        f"{path.stem}/{name}"
        for path in WORKFLOWS
        for name, job in load(path)["jobs"].items()
        if "SITE_URL" in str(job)
    }
    assert users == {"publish/no-address", "publish/build", "release/publish"}


def test_every_other_compiler_is_run_where_its_script_changes() -> None:
    (job,) = load(GITHUB / "workflows" / "peers.yml")["jobs"].values()
    assert job["strategy"]["matrix"]["peer"] == records.names()


def test_one_gate_waits_for_every_job_of_a_pull_request() -> None:
    jobs = load(GITHUB / "workflows" / "pull-request.yml")["jobs"]
    gate = jobs["all-green"]
    assert set(gate["needs"]) == set(jobs) - {"all-green"}
    assert gate["if"] == "always()"


def test_no_push_cancels_a_release() -> None:
    """A group lets one run wait and cancels it when the next comes, so a release shares its group with no other."""
    groups = {path.stem: load(path).get("concurrency", {}) for path in WORKFLOWS}
    assert groups["release"] == {"group": "release-${{ github.ref }}"}
    assert [name for name, job_group in groups.items() if job_group.get("group", "").startswith("release")] == [
        "release"
    ]
    jobs = [job for path in WORKFLOWS for job in load(path)["jobs"].values()]
    assert [job for job in jobs if "concurrency" in job] == []


def test_a_release_publishes_nothing_before_every_check_has_succeeded_on_its_commit() -> None:
    jobs = load(GITHUB / "workflows" / "release.yml")["jobs"]
    assert jobs["checks"]["uses"] == "./.github/workflows/pull-request.yml"
    free = {name for name, job in jobs.items() if not find_needs(jobs, name)}
    assert free == {"checks"}
    assert [name for name in jobs if name != "checks" and "checks" not in find_needs(jobs, name)] == []
    # A condition without `always()` and the like still waits for the jobs before it.
    assert {name: job["if"] for name, job in jobs.items() if "if" in job} == {"publish": "vars.SITE_URL != ''"}


def find_needs(jobs: dict[str, Any], name: str) -> set[str]:
    """Return the jobs that a job waits for, directly or not."""
    needs = jobs[name].get("needs", [])
    direct = {needs} if isinstance(needs, str) else set(needs)
    return direct.union(*(find_needs(jobs, job) for job in direct))


def test_publishing_jobs_install_only_a_pinned_uv() -> None:
    for path in WORKFLOWS:
        for job in load(path)["jobs"].values():
            if "id-token" in job["permissions"]:
                commands = {step["run"] for step in job.get("steps", []) if "run" in step}
                assert commands <= {"scripts/ci/package publish", "scripts/ci/publish pages"}


def test_published_builds_use_no_shared_cache() -> None:
    for name in ("publish.yml", "release.yml"):
        assert "actions/cache" not in (GITHUB / "workflows" / name).read_text(encoding="utf-8")


FAKE = """#!/bin/sh
case "$*" in
  *comments/*|*POST*) echo "$*" > asked; cp comment.md posted ;;
  *"/comments"*) cat known ;;
  *) echo 7 ;;
esac
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the step runs on Linux")
@pytest.mark.parametrize(
    ("conclusion", "known_text", "comment"),
    [
        ("failure", "", "POST repos/o/r/issues/7/comments"),
        ("failure", "42", "PATCH repos/o/r/issues/comments/42"),
        ("success", "42", "PATCH repos/o/r/issues/comments/42"),
        ("success", "", ""),
    ],
)
def test_the_output_of_a_budget_check_is_shown_as_code(
    conclusion: str, known_text: str, comment: str, tmp_path: Path
) -> None:
    workflow = next(path for path in EXAMPLES if "comment" in path.name)
    [command] = [step["run"] for step in steps(workflow) if "run" in step]
    (tmp_path / "gh").write_text(FAKE, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "known").write_text(known_text, encoding="utf-8")
    (tmp_path / "xla-budget.txt").write_bytes(
        "1 broken\n\n~~~\n</details>\r# title\x1b[1m …\n@someone".encode() + b"\xff"
    )
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MARK": "<!-- xla-budget -->", "REPOSITORY": "o/r"}
    environment |= {"HEAD": "o:b", "COMMIT": "c", "CONCLUSION": conclusion}
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=tmp_path, env=environment, check=True)
    posted = tmp_path / "posted"
    assert (comment in (tmp_path / "asked").read_text(encoding="utf-8") if comment else not posted.exists()) is True
    if comment:
        first, empty, *rest = posted.read_bytes().decode().split("\n")
        assert (first, empty) == ("<!-- xla-budget -->", "")
        assert [line for line in rest if line and not line.startswith("    ")] == []
        assert "\r" not in "".join(rest)
