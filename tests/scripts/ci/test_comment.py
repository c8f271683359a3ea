"""The comment on a pull request about changed compiler output, with all text escaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from ci import comment
from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")

DIFF = """\
diff --git a/tests/expected/layer/h100.txt b/tests/expected/layer/h100.txt
--- a/tests/expected/layer/h100.txt
+++ b/tests/expected/layer/h100.txt
@@ -1,2 +1,2 @@
-kernel 1 fusion kCustom
+kernel 1 fusion kLoop
diff --git a/tests/expected/layer/cpu.txt b/tests/expected/layer/cpu.txt
"""
# Answers as the service's command line does, and notes what it is asked.
GH = f"""#!/bin/sh
"exec" "{sys.executable}" "$0" "$@"
import json, pathlib, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
with (here / "asked").open("a") as asked:
    asked.write(json.dumps(words) + "\\n")
method, path = words[2], words[3]
if method == "GET":
    print((here / ("pulls.json" if path.endswith("/pulls") else "comments.json")).read_text())
else:
    print("{{}}")
"""


@dataclass
class Service:
    """A service that knows one pull request, whose last commit is `abc`.

    Attributes:
        folder: The folder of its simulated command line `gh`.
        comments: The comments on the pull request.
    """

    folder: Path
    comments: list[dict[str, object]] = field(default_factory=list)

    def post(self, diff: str, commit: str = "abc") -> subprocess.CompletedProcess[str]:
        """Run `scripts/ci/comment post` against it."""
        (self.folder / "gh").write_text(GH, encoding="utf-8")
        (self.folder / "gh").chmod(0o755)
        (self.folder / "pulls.json").write_text(json.dumps([{"number": 7, "head": {"sha": "abc"}}]), encoding="utf-8")
        (self.folder / "comments.json").write_text(json.dumps(self.comments), encoding="utf-8")
        (self.folder / "outputs.diff").write_text(diff, encoding="utf-8")
        environment = os.environ | {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "REPOSITORY": "owner/name",
            "HEAD": "somebody:branch",
            "COMMIT": commit,
        }
        command = ["bash", str(ROOT / "scripts" / "ci" / "comment"), "post", str(self.folder / "outputs.diff")]
        return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)

    @property
    def written(self) -> list[tuple[str, str, str]]:
        """Method, path and text of each comment that was written."""
        requests = [json.loads(line) for line in (self.folder / "asked").read_text(encoding="utf-8").splitlines()]
        return [(words[2], words[3], words[5].removeprefix("body=")) for words in requests if words[2] != "GET"]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """The service without any comments."""
    return Service(tmp_path)


def test_a_comment_names_programs_and_targets_and_shows_the_difference(service: Service) -> None:
    result = service.post(DIFF)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "comment: commented on #7\n")
    [(method, path, body)] = service.written
    assert (method, path) == ("POST", "repos/owner/name/issues/7/comments")
    assert "| `layer` | h100, cpu |" in body
    assert "for 1 program." in body
    assert f"~~~diff\n{DIFF.rstrip()}\n~~~\n" in body


def test_the_comment_of_an_earlier_run_is_rewritten_and_nobody_elses(service: Service) -> None:
    service.comments = [
        {"id": 1, "user": {"type": "User"}, "body": comment.MARK},
        {"id": 2, "user": {"type": "Bot"}, "body": "Another robot."},
        {"id": 3, "user": {"type": "Bot"}, "body": f"{comment.MARK}\nOld."},
    ]
    assert service.post("").stdout == "comment: rewrote the comment on #7\n"
    [(method, path, body)] = service.written
    assert (method, path) == ("PATCH", "repos/owner/name/issues/comments/3")
    assert "compiles to what it did before" in body


def test_no_comment_is_posted_without_changes(service: Service) -> None:
    assert service.post("").stdout == "comment: nothing to say on #7: no output changed\n"
    assert service.written == []


def test_affirmed_sentences_are_shown_with_what_backs_them_and_none_leaves_its_fence(service: Service) -> None:
    pair = "docs/a.md:3: changed\n  - old | assert x\n~~~\n@all"
    (service.folder / "affirmed.txt").write_text(pair, encoding="utf-8")
    assert service.post("").stdout == "comment: commented on #7\n"
    [(_, _, body)] = service.written
    assert f"~~~~text\n{pair}\n~~~~\n" in body


def test_a_commit_that_is_no_longer_the_last_gets_no_comment(service: Service) -> None:
    assert service.post(DIFF, commit="old").stdout.startswith("comment: no open pull request from somebody:branch")
    assert service.written == []


def test_no_text_leaves_its_fence_and_none_is_too_long() -> None:
    body = comment.compose("~~~~\n</details>@everybody\n" * 4000)
    fence = "~" * 5
    before, inside, after = body.split(f"\n{fence}")
    assert "@everybody" not in before + after
    assert inside.startswith("diff\n")
    assert "more characters are in the artifact" in after
    assert len(body) < 65_536


def begin(program: str, target: str) -> str:
    """Return the first line of the difference of one file."""
    return f"diff --git a/tests/expected/{program}/{target}.txt b/tests/expected/{program}/{target}.txt\n"


@pytest.mark.parametrize(
    ("diff", "programs"),
    [
        (begin("layer", "cpu") + "+€\U0001f600" * 40_000, 1),
        ("".join(begin(f"p{n}{'x' * 50}", "cpu") for n in range(3000)), 3000),
        ("".join(begin("layer", f"t{n}") for n in range(9000)), 1),
        (begin("layer", "cpu") + "~" * 60_000, 1),
        (begin("é" * 90_000, "cpu"), 1),
    ],
    ids=["wide characters", "many programs", "many targets", "a long fence", "a long name"],
)
def test_a_comment_fits_whatever_the_difference_holds(service: Service, diff: str, programs: int) -> None:
    """An argument of a command holds 128 KiB, and a comment half of that."""
    result = service.post(diff)
    assert (result.returncode, result.stderr) == (0, "")
    [(_, _, body)] = service.written
    assert len(body.encode()) < 65_536
    assert f"for {programs:,} program".replace(",", "") in body
    assert "more characters are in the artifact" in body
    assert body.count("<details>") == body.count("</details>") == 1


def test_the_difference_is_that_of_the_expected_outputs_alone(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    (tmp_path / "scripts" / "ci").mkdir(parents=True)
    for name in ("ci/comment", "common.sh"):
        (tmp_path / "scripts" / name).write_bytes((ROOT / "scripts" / name).read_bytes())
    (tmp_path / "tests" / "expected" / "layer").mkdir(parents=True)
    text = tmp_path / "tests" / "expected" / "layer" / "cpu.txt"
    text.write_text("kernels 2\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "First")
    text.write_text("kernels 3\n", encoding="utf-8")
    (tmp_path / "other.txt").write_text("no\n", encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "--message", "Second")
    command = ["bash", "scripts/ci/comment", "diff", "HEAD^", "outputs.diff"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    lines = (tmp_path / "outputs.diff").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "diff --git a/tests/expected/layer/cpu.txt b/tests/expected/layer/cpu.txt"
    assert lines[-2:] == ["-kernels 2", "+kernels 3"]
