"""The pull request comment that shows the difference of the expected outputs.

The text comes from a job that ran untrusted code, so it is only displayed: inside a fence, and never longer than a
comment may be. The pull request is looked up through GitHub by branch and commit, and never taken from the text.

Needs only the standard library and `gh`.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import accumulate
from pathlib import Path

from ci.github_api import GitHubError, call

MARK = "<!-- outputs -->"
MOST = 50_000
"""The largest text to show, in bytes, half of it for each fold; GitHub accepts comments of 65,536 bytes."""
MOST_ROWS = 8_000
"""The largest table of programs, in bytes."""
LONGEST_FENCE = 100
"""The longest fence, in marks; a text that needs a longer one is not shown."""

_FILE = re.compile(r"^diff --git a/tests/expected/(?P<program>[\w-]+)/(?P<target>[\w-]+)\.txt ", re.MULTILINE)


def compose(diff: str, affirmed: str = "") -> str:
    """Return the comment: the changed programs by target, the difference, and the affirmed sentences."""
    parts = [MARK, _compose_outputs(diff)]
    if affirmed.strip():
        parts.append(_fold("The sentences that were affirmed, each with what backs it", affirmed, "text"))
    return "\n".join(parts)


def _compose_outputs(diff: str) -> str:
    if not diff.strip():
        return "Every program compiles to what it did before, on every target."
    targets_by_program: dict[str, list[str]] = {}
    for file in _FILE.finditer(diff):
        targets_by_program.setdefault(file["program"], []).append(file["target"])
    rows = [f"| `{program}` | {', '.join(targets)} |\n" for program, targets in sorted(targets_by_program.items())]
    # The table is cut at whole rows, since GitHub rejects a comment that is too long.
    sizes = accumulate(len(row.encode()) for row in rows)
    listed = [row for row, size in zip(rows, sizes, strict=True) if size <= MOST_ROWS]
    if len(listed) < len(rows):
        listed.append(f"| and {_count(len(rows) - len(listed), 'more program')} | |\n")
    return (
        f"**The compiler does something else** for {_count(len(targets_by_program), 'program')}. "
        "Is that what this pull request is about?\n\n"
        f"| program | targets |\n| --- | --- |\n{''.join(listed)}\n"
        + _fold("The difference of <code>tests/expected</code>", diff, "diff")
    )


def _fold(title: str, text: str, language: str) -> str:
    """Return as much of a text as a comment can hold, folded, inside a fence that the text cannot close."""
    # The fence is longer than any row of tildes in the text, so that untrusted text cannot leave it.
    excerpt = text.encode()[: MOST // 2].decode(errors="ignore")
    fence = "~" * (max(map(len, re.findall(r"~+", excerpt)), default=2) + 1)
    if len(fence) > LONGEST_FENCE:
        excerpt, fence = "", "~~~"
    rest = len(text) - len(excerpt)
    note = f"\n\n{rest:,} more characters are in the artifact `outputs`." if rest > 0 else ""
    return f"<details><summary>{title}</summary>\n\n{fence}{language}\n{excerpt.rstrip()}\n{fence}\n\n</details>{note}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def find_pull_request(repository: str, head: str, commit: str) -> int | None:
    """Return the number of the open pull request from `head` (`owner:branch`) with this last commit, or None."""
    requests = call("GET", f"repos/{repository}/pulls", state="open", head=head)
    # A later push to the branch has a run of its own, which comments on the newer commit.
    numbers = [int(request["number"]) for request in requests if request["head"]["sha"] == commit]
    return numbers[0] if numbers else None


def post(repository: str, number: int, body: str, *, changed: bool) -> str:
    """Write the comment, replacing the comment of an earlier run, and return a message about it.

    If nothing changed and there is no earlier comment, none is written.
    """
    comments = call("GET", f"repos/{repository}/issues/{number}/comments", per_page="100")
    for comment in comments:
        # Anyone could write the mark, so only the comment of a bot counts.
        if comment["user"]["type"] == "Bot" and comment["body"].startswith(MARK):
            call("PATCH", f"repos/{repository}/issues/comments/{comment['id']}", body=body)
            return f"rewrote the comment on #{number}"
    if not changed:
        return f"nothing to say on #{number}: no output changed"
    call("POST", f"repos/{repository}/issues/{number}/comments", body=body)
    return f"commented on #{number}"


def main() -> int:
    """Post the comment about the difference in the file that the command line names, and return the exit code."""
    path = Path(sys.argv[1])
    if not path.is_file():
        print(f"comment: no {path}: the run ended before it had one")
        return 0
    try:
        repository, head, commit = (os.environ[name] for name in ("REPOSITORY", "HEAD", "COMMIT"))
    except KeyError as error:
        print(f"comment: set {error.args[0]}: scripts/ci/comment post is for the workflow comment.yml", file=sys.stderr)
        return 1
    diff = path.read_text(encoding="utf-8", errors="replace")
    pairs = path.with_name("affirmed.txt")
    affirmed = pairs.read_text(encoding="utf-8", errors="replace") if pairs.is_file() else ""
    try:
        number = find_pull_request(repository, head, commit)
        if number is None:
            print(f"comment: no open pull request from {head} ends with {commit}")
            return 0
        print("comment:", post(repository, number, compose(diff, affirmed), changed=bool(f"{diff}{affirmed}".strip())))
    except GitHubError as error:
        print(f"comment: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
