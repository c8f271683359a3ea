"""The texts that state facts: pages, READMEs, help, captions, exercises with hints, tables, and command answers."""

from __future__ import annotations

import ast
import re
import tomllib
from typing import TYPE_CHECKING, Any

from authoring import affirmed_tables
from livepage.notebooks import read_prose
from livepage.read import READING, Check, Prose, Sentence, list_sentences, read_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READMES = ("README.md", "snippets/xla_inspect/README.md")
OPTION = "the option's other settings"
"""The title of a help text's backing: the call that defines the option."""

_HELP = {"help", "description", "epilog"}
_TABLE = re.compile(r"[A-Z][A-Z_]+")
_SHOWN = (
    "snippets/chapters/",
    "snippets/pages/",
    "snippets/practice/",
    "snippets/xla_inspect/analysis/",
    "snippets/xla_inspect/practice/texts/",
    "snippets/xla_inspect/report/words.toml",
)
"""Folders and files with tables, exercises and texts that readers see."""
_WORDED = ("snippets/chapters/", "snippets/pages/", "snippets/xla_inspect/analysis/", "snippets/xla_inspect/report/")
"""Folders whose modules write captions, labels and reasons."""
_SCRIPTS = ("docs/assets", "snippets/xla_inspect/report", "snippets/xla_inspect/play")
"""Folders with scripts that run in a browser."""
_SCRIPT_TEXT = re.compile(r'^\s*//.*$|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', re.MULTILINE)
_FEWEST = 4
"""The smallest number of words in a caption."""


def list_pages(root: Path) -> list[Path]:
    """Return the paths of the pages and notebooks."""
    return [*sorted((root / "docs").rglob("*.md")), *sorted((root / "docs").rglob("*.py"))]


def read_all(root: Path) -> Iterator[Prose]:
    """Yield all texts of the project: the pages, then the others."""
    yield from map(read_prose, list_pages(root))
    yield from read_others(root)


def read_others(root: Path) -> Iterator[Prose]:
    """Yield the texts that are not on a page: those of tables, READMEs, scripts, modules and commands."""
    yield from affirmed_tables.read_tables(root)
    for name in READMES:
        if (root / name).is_file():
            yield read_sentences(name, (root / name).read_text(encoding="utf-8"))
    yield from read_scripts(root)
    for folder in ("snippets", "scripts"):
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix == ".toml" and name.startswith(_SHOWN):
                yield _read_table(name, path.read_text(encoding="utf-8"))
            elif path.suffix == ".md" and name.startswith(_SHOWN):
                yield read_sentences(name, path.read_text(encoding="utf-8"))
            elif path.suffix == ".py":
                yield from _read_module(name, path.read_text(encoding="utf-8"))
            elif folder == "scripts" and path.is_file() and not path.suffix and "__pycache__" not in name:
                yield _read_command(name, path.read_text(encoding="utf-8"))


def _read_table(name: str, text: str) -> Prose:
    """Return the texts of a TOML file, each preceded by its key."""
    lines = text.split("\n")
    sentences = []
    for key, words in _walk("", tomllib.loads(text)):
        # TOML gives no line numbers, so the first line of the text is looked up in the file.
        start = words.strip().partition("\n")[0]
        line = next((number for number, line in enumerate(lines, 1) if start in line), 1)
        sentences.append(Sentence(f"{key}: {' '.join(words.split())}", line, 0, Check(READING, "", line)))
    return Prose(name, tuple(sentences))


def _walk(key: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - whatever TOML can hold
    """Yield the texts of two words or more below a value of TOML, with their keys; regular expressions are left out."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name != "pattern":
                yield from _walk(name, part)
    elif isinstance(value, list):
        for part in value:
            yield from _walk(key, part)
    elif isinstance(value, str) and " " in value.strip():
        yield key, value


def _read_command(name: str, text: str) -> Prose:
    """Return the help of a shell script, which is the comment at its beginning."""
    header = re.match(r"#![^\n]*\n((?:#[^\n]*\n)*)", text)
    lines = (header[1] if header else "").splitlines()
    sentences = [(number, line.removeprefix("#").strip()) for number, line in enumerate(lines, 2)]
    visible = [
        Sentence(" ".join(line.split()), number) for number, line in sentences if line and "shellcheck" not in line
    ]
    return Prose(name, tuple(visible))


def read_scripts(root: Path) -> Iterator[Prose]:
    """Yield the texts that the scripts of pages display; third-party scripts, which have a license file, are skipped.

    Comments are not included, since readers of the pages do not see them.
    """
    for path in sorted(path for folder in _SCRIPTS for path in (root / folder).rglob("*.js")):
        if path.with_suffix(".LICENSE.txt").exists():
            continue
        text = path.read_text(encoding="utf-8")
        captions = []
        for match in _SCRIPT_TEXT.finditer(text):
            words = " ".join((match[1] or match[2] or "").split())
            # Placeholders of template strings are code, and their names must not count as words.
            plain = re.sub(r"\$\{[^}]*\}", " ", words)
            if _is_caption(plain, _FEWEST - 1) and not re.search(r"[\[=]|^[.:]", plain):  # this is no CSS selector
                line = text.count("\n", 0, match.start()) + 1
                captions.append(Sentence(words, line, 0, Check(READING, "", line)))
        yield Prose(path.relative_to(root).as_posix(), tuple(captions))


def _read_module(name: str, text: str) -> Iterator[Prose]:
    """Yield the texts of a module that readers see: its help, the task of an exercise, or its captions."""
    if re.search(r"\.(?:add_argument|add_parser|addoption)\(|ArgumentParser\(|^QUESTIONS\b", text, re.MULTILINE):
        yield Prose(name, tuple(_list_help(ast.parse(text))))
    elif name.startswith("snippets/practice/"):
        task = ast.get_docstring(ast.parse(text)) or ""
        yield Prose(
            name, tuple(Sentence(words, line, 0, Check(READING, "", 1)) for line, words in list_sentences(task))
        )
    elif name.startswith(_WORDED):
        tree = ast.parse(text)
        texts = [(line, " ".join(words.split())) for line, words in _list_texts(tree)]
        reading = Check(READING, "", 1)
        yield Prose(name, tuple(Sentence(words, line, 0, reading) for line, words in texts if _is_caption(words)))


def _is_caption(words: str, fewest: int = _FEWEST) -> bool:
    return len(re.findall(r"[A-Za-z]{2,}", words)) >= fewest and not re.search(r"<|\\[a-zS(.\[]|\(\?", words)


def _list_help(tree: ast.Module) -> Iterator[Sentence]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            # The help text is backed by the rest of its call, so a changed default or type asks for a new reading.
            rest = [keyword for keyword in node.keywords if keyword.arg not in _HELP]
            check = Check(OPTION, ast.unparse(ast.Call(node.func, node.args, rest)), node.lineno)
            for keyword in node.keywords:
                if keyword.arg in _HELP:
                    yield from (Sentence(words, line, 0, check) for line, words in _list_texts(keyword.value))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and _TABLE.fullmatch(target.id):
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    name = ast.unparse(key) if key else ""
                    yield from (
                        Sentence(f"{name}: {words}", line, 0, Check(READING, "", line))
                        for line, words in _list_texts(value)
                    )
    # A module that uses `__doc__` prints its docstring as help.
    if any(isinstance(node, ast.Name) and node.id == "__doc__" for node in ast.walk(tree)):
        text = ast.get_docstring(tree) or ""
        yield from (Sentence(words, line, 0, Check(READING, "", 1)) for line, words in list_sentences(text))


def _list_texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the strings with a space and all f-strings with their lines, but neither docstrings nor error messages."""
    if isinstance(node, ast.Raise) or _is_message(node):
        return
    if isinstance(node, ast.JoinedStr):
        parts = (
            f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ast.literal_eval(part)
            for part in node.values
        )
        yield node.lineno, "".join(parts)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from _list_texts(child)


def _is_message(node: ast.AST) -> bool:
    """Return whether a node is a docstring or the message of an error."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "message"
