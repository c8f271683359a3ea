"""Show sentences beside their backing, and record what a person accepts: see `scripts/authoring/affirm --help`."""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from authoring import project_texts
from common import ROOT
from livepage.read import READING, Check, Sentence, project
from livepage.run import KINDS, Backings, backing, sentence_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from livepage.read import Prose
    from livepage.run import Record

WIDTH = 66
"""The number of columns for a sentence that is shown next to its check."""
_ALIKE = 0.6
"""The smallest similarity at which a sentence counts as an edit of another one."""


@dataclass(frozen=True)
class Pair:
    """A sentence for a person to accept, with its backing; an empty sentence and seal stand for a deletion.

    Attributes:
        sentence: The sentence.
        check: The backing.
        seal: The hash of the backing.
        old: The sentence that it replaces, or an empty string.
        shown: The text that shows the pair to a person.
    """

    sentence: Sentence
    check: Check
    seal: str
    old: str
    shown: str


def list_pairs(prose: Prose, record: Record, chosen: dict[int, str], old: Iterable[str] = ()) -> list[Pair]:
    """Return a pair for each sentence that is not affirmed, with the chosen backing or the most probable one.

    If sentences were only deleted, one pair without a sentence stands for all of them.

    Args:
        prose: The page.
        record: The page's affirmed sentences.
        chosen: For some lines, a kind of backing or the title of a check.
        old: The sentences of the page when it was last affirmed.

    Raises:
        SystemExit: The chosen backing cannot back the sentence.
    """
    backings = Backings(prose)
    now = {backing.hash_sentence(sentence.text) for sentence in prose.sentences}
    deleted = [text for text in old if backing.hash_sentence(text) not in now]
    # The first digits of a seal identify the title of a backing, also after the backing's code has changed.
    before = {seal[: backing.TITLE] for _, seal in record}
    pairs = []
    for sentence in sentence_checks.list_open(prose, record):
        one = backing.hash_sentence(sentence.text)
        was = next(iter(difflib.get_close_matches(sentence.text, deleted, 1, _ALIKE)), "")
        titles = {seal[: backing.TITLE] for text, seal in record if text in {one, backing.hash_sentence(was)}}
        check = _choose(prose, sentence, backings, chosen.get(sentence.line, ""), titles & before)
        helpers = backings.list_helpers(check) if check.title not in KINDS else []
        view = _show(prose, sentence, check, was, helpers)
        pairs.append(Pair(sentence, check, backings.seal(check), was, view))
    # If sentences were only deleted, a pair without a seal stands for the deletion, so that it must be accepted too.
    if not pairs and {one for one, _ in record} - now:
        lines = "".join(f"\n  - {text}" for text in deleted)
        view = f"{prose.name}:1: no longer says what was affirmed{lines}"
        pairs.append(Pair(Sentence("", 1), Check("", "", 1), "", "", view))
    return pairs


def _choose(prose: Prose, sentence: Sentence, backings: Backings, title: str, digits: set[str]) -> Check:
    possible = backings.list_possible(sentence)
    if title:
        choice = next((check for check in possible if check.title == title), None)
        if choice is None:
            titles = "".join(f"\n  {check.title}" for check in possible)
            sys.exit(f"affirm: {prose.name}:{sentence.line} cannot rest on {title!r}, only on one of these:{titles}")
        undecided = backing.find_undecided(sentence, choice, []) if title == backing.VALUES else []
        if undecided:
            sys.exit(
                f"affirm: {prose.name}:{sentence.line}: no value decides {undecided[0].strip()!r}: put a check below it"
            )
        return choice
    # The backing that the sentence had before is the best guess, then values that decide every clause.
    before = [check for check in possible if backing.hash_title(check.title) in digits]
    decided = [
        check for check in possible if check.title == backing.VALUES and not backing.find_undecided(sentence, check, [])
    ]
    others = [check for check in possible if check.title != backing.VALUES]
    if sentence.line == sentence.section:  # a heading is about all the text below it, so no single check backs it
        others.sort(key=lambda check: check.title != READING)
    return next(iter([*before, *decided, *others]))


def _show(prose: Prose, sentence: Sentence, check: Check, old: str, helpers: list[str]) -> str:
    kind = KINDS.get(check.title)
    on = f"rests on {check.title}: {kind}" if kind else f"rests on {check.title!r}"
    lines = [f"{prose.name}:{sentence.line}: {'changed' if old else 'new, or its backing changed'}; it {on}"]
    if old:
        lines.append(textwrap.fill(old, 120, initial_indent="  - ", subsequent_indent="    "))
    code = "\n".join([check.code.strip("\n"), *(f"# helper\n{helper}" for helper in helpers[:3])])
    lines.append(_set_side_by_side(sentence.text, code))
    undecided = backing.find_undecided(sentence, check, helpers)
    if undecided := undecided or (backing.list_added_words(sentence) if check.title == backing.VALUES else []):
        lines.append(f"  The code on the right does not hold: {', '.join(undecided)}")
    return "\n".join(lines)


def _set_side_by_side(sentence: str, code: str) -> str:
    """Return text in two columns: a sentence on the left and code on the right."""
    sentence_lines = textwrap.wrap(sentence, WIDTH, initial_indent="+ ", subsequent_indent="  ")
    code_lines = code.split("\n")
    height = max(len(sentence_lines), len(code_lines))
    rows = zip(
        sentence_lines + [""] * (height - len(sentence_lines)),
        code_lines + [""] * (height - len(code_lines)),
        strict=True,
    )
    return "\n".join(f"  {one:<{WIDTH}} | {other}".rstrip(" |") for one, other in rows)


def affirm(
    prose: Prose, accepts: Callable[[Pair], bool], chosen: dict[int, str], old: Iterable[str] = ()
) -> list[Pair]:
    """Record the accepted sentences, and return the pairs that were not accepted.

    Deleted sentences are dropped from the record once every pair is accepted.

    Args:
        prose: The page.
        accepts: A function that returns whether a person accepts a pair.
        chosen: For some lines, a kind of backing or the title of a check.
        old: The sentences of the page when it was last affirmed.
    """
    record = backing.load_affirmed(prose.name)
    pairs = list_pairs(prose, record, chosen, old)
    # Entries of sentences whose code is unchanged stay recorded without being shown again.
    backings = Backings(prose)
    entries = set[tuple[str, str]]()
    for sentence in sentence_checks.list_claims(prose):
        one = backing.hash_sentence(sentence.text)
        entries |= {
            (one, seal) for check in backings.list_possible(sentence) if (one, seal := backings.seal(check)) in record
        }
    accepted = [pair for pair in pairs if accepts(pair)]
    remaining = [pair for pair in pairs if pair not in accepted]
    entries |= {(backing.hash_sentence(pair.sentence.text), pair.seal) for pair in accepted if pair.seal}
    # While pairs are open, deleted sentences stay recorded: an open sentence may be the edited form of one of them.
    backing.store(prose, entries | record if remaining else entries)
    return remaining


def accept_decided(pair: Pair, judge: Callable[[Pair], bool] = lambda _: False) -> bool:
    """Return whether to accept a pair: always if its sentence only states values, otherwise as `judge` decides."""
    if pair.check.title == backing.VALUES and not backing.list_added_words(pair.sentence):
        print(f"accepted, because the sentence only states its computed values: {pair.shown}")
        return True
    return judge(pair)


def ask_for_acceptance(pair: Pair) -> bool:
    """Show a pair on the terminal, and return whether the person accepts it."""
    print(pair.shown)
    return input("Does the right side decide every word of the left? [y/N] ").strip().lower() in {"y", "yes"}


def _is_on(pair: Pair, lines: list[int]) -> bool:
    """Return whether a pair is on one of the accepted lines; if so, print it."""
    is_accepted = pair.sentence.line in lines
    if is_accepted:
        print(f"accepted: {pair.shown}")
    return is_accepted


def list_changed(base: str) -> Iterator[str]:
    """Yield the text of each pair affirmed since a commit, with the earlier sentence if there was one."""
    before, records = _read_commit(base)
    for prose in project_texts.read_all(ROOT):
        entries = records.get(prose.name, set()) & backing.load_affirmed(prose.name)
        yield from (pair.shown for pair in list_pairs(prose, entries, {}, before.get(prose.name, ())))


def _find_old(name: str) -> list[str]:
    """Return the sentences of a text in the last commit that changed the records, or an empty list."""
    command = ["git", "log", "-1", "--format=%H", "--", backing.RECORDS.as_posix()]
    commit = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
    return _read_commit(commit)[0].get(name, []) if commit else []


@cache
def _read_commit(commit: str) -> tuple[dict[str, list[str]], Mapping[str, Record]]:
    """Return the sentences of each text in a commit, and the sentences that were affirmed there, both by text.

    Raises:
        SystemExit: The commit does not exist.
    """
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=False, capture_output=True)
    if archive.returncode:
        sys.exit(f"affirm: {archive.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        # The readers find files through the project's root, so it points to the extracted commit meanwhile.
        with project.placed_at(Path(folder)):
            texts = {
                prose.name: [one.text for one in prose.sentences] for prose in project_texts.read_all(Path(folder))
            }
            return texts, backing.load_all()


def _choose_texts(names: list[str]) -> list[Prose]:
    """Return the texts with these names, or all texts if no names are given.

    Raises:
        SystemExit: A text does not exist.
    """
    texts = {prose.name: prose for prose in project_texts.read_all(ROOT)}
    chosen = [Path(name).resolve().relative_to(ROOT).as_posix() for name in names] or list(texts)
    if unknown := [name for name in chosen if name not in texts]:
        sys.exit(
            f"affirm: no text in {unknown[0]}. Name a page, such as docs/pipeline.md, a README or a module with help."
        )
    return [texts[name] for name in chosen]


def _read_lines(text: str) -> list[int]:
    """Return the line numbers in a list of ranges such as `12,20-24`, both ends included."""
    lines: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        lines += range(int(first), int(last or first) + 1)
    return lines


def main() -> None:
    """Show unaffirmed pairs and record accepted ones; `--check` only reports, and `--since` prints recorded pairs."""
    parser = argparse.ArgumentParser(prog="scripts/authoring/affirm", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PAGE")
    parser.add_argument("--lines", default=[], type=_read_lines, help="12,20-24: accept the sentences on these lines")
    parser.add_argument(
        "--as", dest="by", default="", help=f"their backing: {', '.join(KINDS)}, or the title of a check"
    )
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where something is not affirmed")
    parser.add_argument("--since", metavar="COMMIT", help="write nothing, and print each pair recorded since a commit")
    options = parser.parse_args()
    if (options.lines or options.by) and (len(options.names) != 1 or not options.lines):
        parser.error("--lines and --as go with one page, and --as with --lines")
    project.root = ROOT
    if options.since:
        print("\n\n".join(list_changed(options.since)))
        return
    is_asked = sys.stdin.isatty() and sys.stdout.isatty() and not options.lines
    is_open = False
    for prose in _choose_texts(options.names):
        faults = sentence_checks.judge_sentences(prose)
        if options.check or not faults:
            print(*faults, sep="\n", end="\n" if faults else "")
            is_open = is_open or bool(faults)
            continue
        chosen = dict.fromkeys(options.lines, options.by)
        # Without a terminal nobody can answer, so only the lines from the command line are accepted.
        judge = ask_for_acceptance if is_asked else partial(_is_on, lines=options.lines)
        remaining = affirm(prose, partial(accept_decided, judge=judge), chosen, _find_old(prose.name))
        is_open = is_open or bool(remaining)
        if remaining and not is_asked:
            lines = ",".join(dict.fromkeys(str(pair.sentence.line) for pair in remaining))
            print("\n\n".join(pair.shown for pair in remaining))
            print("\nNothing of this is recorded. Where the two sides of each pair agree:")
            print(f"  scripts/authoring/affirm {prose.name} --lines {lines}")
    print("some sentences are not affirmed" if is_open else "every sentence that claims something is affirmed")
    sys.exit(is_open)


if __name__ == "__main__":
    main()
