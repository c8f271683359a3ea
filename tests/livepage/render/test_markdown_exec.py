"""Each documented option of markdown-exec gives the words that markdown-exec alone gives."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import markdown
import pytest
from markdown_exec import MARKDOWN_EXEC_AUTO, formatter, formatters, validator

if TYPE_CHECKING:
    from conftest import Site

SAY = 'print("so *it* is")'
SAME = {
    "on": f'```python exec="on"\n{SAY}\n```',
    "true": f'```python exec="true"\n{SAY}\n```',
    "yes": f'```python exec="yes"\n{SAY}\n```',
    "1": f'```python exec="1"\n{SAY}\n```',
    "braces": f'```{{.python exec="1"}}\n{SAY}\n```',
    "off": f'```python exec="off"\n{SAY}\n```',
    "no": f'```python exec="no"\n{SAY}\n```',
    "py": f'```py exec="on"\n{SAY}\n```',
    "html": '```python exec="on" html="true"\nprint("<b>*bold*</b>")\n```',
    "html with source": '```python exec="on" html="1" source="above"\nprint("<b>*bold*</b>")\n```',
    "above": f'```python exec="on" source="above"\n{SAY}\n```',
    "below": f'```python exec="on" source="below"\n{SAY}\n```',
    "block": f'```python exec="on" source="block"\n{SAY}\n```',
    "material-block": f'```python exec="on" source="material-block"\n{SAY}\n```',
    "tabbed-left": f'```python exec="on" source="tabbed-left"\n{SAY}\n```',
    "tabbed-right": f'```python exec="on" source="tabbed-right" tabs="Code|Comes out"\n{SAY}\n```',
    "console with source": f'```python exec="on" source="console"\n{SAY}\n```',
    "hidden lines": '```python exec="on" source="above"\nx = 3  # markdown-exec: hide\nprint(x)\n```',
    "result": '```python exec="on" result="json"\nprint({"a": 1})\n```',
    "title": f'```python exec="on" source="above" title="it.py"\n{SAY}\n```',
    "free attribute": f'```python exec="on" source="above" data-which="first" linenums="1"\n{SAY}\n```',
    "session": '```python exec="on" session="s"\nz = 4\n```\n\n```python exec="on" session="s"\nprint(z)\n```',
    "workdir": '```python exec="on" workdir="docs"\nfrom pathlib import Path\nprint(Path.cwd().name)\n```',
    "workdir of a shell": '```bash exec="on" workdir="docs" result="text"\nbasename "$PWD"\n```',
    "width": '```python exec="on" width="41"\nimport shutil\nprint(shutil.get_terminal_size().columns)\n```',
    "width of a shell": '```sh exec="on" width="42"\necho "$COLUMNS"\n```',
    "bash": '```bash exec="on" result="text"\nfor at in {1..3}; do echo $at; done\n```',
    "sh": '```sh exec="on" source="above" result="text"\necho one\necho two >&2\n```',
    "console": '```console exec="on" source="console"\n$ echo one\nwhatever stands here\n$ echo two\n```',
    "returncode": '```bash exec="on" returncode="3" result="text"\necho three\nexit 3\n```',
    "pycon": '```pycon exec="on" source="console"\n>>> x = 5\n>>> if x:\n...     print(x)\nnot run\n```',
    "md": '````md exec="1" source="tabbed-right"\n```python\nprint(1)\n```\nThis is *it*.\n````',
    "markdown": '```markdown exec="1" source="above"\n* one\n* two\n```',
    "tree": "```tree\nroot\n    folder/\n        one.py\n    two.txt\n```",
    "tree with options": '```tree result="text" title="Files" icons="none"\nroot\n    two.txt\n```',
    "tree with basic icons": '```tree icons="basic"\nroot\n    two.txt\n```',
    "nested": f'!!! note\n\n    === "A tab"\n\n        ```python exec="on" source="above"\n        {SAY}\n        ```',
    "no update of the contents": '```python exec="on" updatetoc="no"\nprint("## Title")\n```',
}
PLAIN = (
    "admonition", "attr_list", "md_in_html", "tables", "toc", "pymdownx.highlight", "pymdownx.superfences",
    "pymdownx.tabbed",
)  # fmt: skip


def show_plainly(text: str) -> str:
    """Return the output of plain markdown-exec for a page."""
    fences = [{"name": name, "class": name, "validator": validator, "format": formatter} for name in formatters]
    configs = {"pymdownx.superfences": {"custom_fences": fences}, "pymdownx.tabbed": {"alternate_style": True}}
    return markdown.markdown(text, extensions=[*PLAIN], extension_configs=configs)


def read_text(page: str) -> str:
    """Return the words of a page, without anchors of headings and numbers of lines."""
    page = re.sub(r'<a class="headerlink".*?</a>|<td class="linenos">.*?</td>|<svg.*?</svg>', "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", page)).split())


@pytest.mark.parametrize("name", SAME)
def test_a_documented_option_has_its_documented_effect(site: Site, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    site.write({"docs/a.md": f"# A\n\n{SAME[name]}\n"})
    pages, failures = site.render("a")
    assert failures == []
    expected = read_text(show_plainly(f"# A\n\n{SAME[name]}\n"))
    assert read_text(pages) == expected
    assert expected != "A"


def test_all_options_work_together_on_one_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    text = "# A\n\n" + "\n\n".join(SAME.values()) + "\n"
    site.write({"docs/a.md": text})
    assert site.build() == []
    assert read_text(site.html("a")) == read_text(show_plainly(text))


def test_names_and_ids_are_set_as_documented(site: Site) -> None:
    block = '```python exec="on" {}\nprint("## Title")\n```'
    titles = {'id="own"': "own-title", 'idprefix="pre-"': "pre-title", "": "block-3-title", 'idprefix=""': "title"}
    site.write({"docs/a.md": "# A\n\n" + "\n\n".join(map(block.format, titles)) + "\n"})
    pages, failures = site.render("a")
    assert failures == []
    assert re.findall(r'<h2 id="([^"]*)"', pages) == [*titles.values()]


def test_a_language_of_the_variable_runs_without_being_told_to(site: Site) -> None:
    site.write({"docs/a.md": "# A\n\n```sh\necho $((6 * 7))\n```\n"})
    before = [*MARKDOWN_EXEC_AUTO]
    MARKDOWN_EXEC_AUTO[:] = ["sh"]
    try:
        assert read_text(site.render("a")[0]) == "A 42"
    finally:
        MARKDOWN_EXEC_AUTO[:] = before


# What differs: each is named in the guide for contributors.


def test_blocks_without_a_session_share_the_names_of_their_page_and_of_no_other(site: Site) -> None:
    text = """
        # A

        ```python exec="on"
        x = 1
        ```

        ```python exec="on" session="apart"
        x = globals().get("x", "none of the page's")
        ```

        ```python exec="on" session="apart"
        print(x)
        ```

        The page's is `= x`.
        """
    site.write({"docs/a.md": text, "docs/b.md": '# B\n\n```python exec="on" session="apart"\nprint(x)\n```\n'})
    assert read_text(site.render("a")[0]) == "A none of the page's The page's is 1."
    assert [str(failure) for failure in site.render("b")[1]] == ["docs/b.md:4: NameError: name 'x' is not defined"]


def test_a_failure_names_page_and_line_in_place_of_a_traceback_on_the_page(site: Site) -> None:
    cases = {
        '```pycon exec="on"\n>>> x = 1\n>>> x / 0\n```': "docs/a.md:5: ZeroDivisionError: division by zero",
        '```bash exec="on"\necho before\nexit 2\n```': (
            "docs/a.md:3: RuntimeError: `bash` ended with exit status 2, not 0: before"
        ),
        '```sh exec="on" returncode="1"\ntrue\n```': (
            "docs/a.md:3: RuntimeError: `sh` ended with exit status 0, not 1: it printed nothing"
        ),
        '```bash exec="on" workdir="nowhere"\nls\n```': (
            "docs/a.md:3: FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'"
        ),
        '```rust exec="on"\nfn\n```': (
            "docs/a.md:3: rust does not run on a page: bash, console, md, pycon, python, sh do"
        ),
        '```bash exec="on" width="wide"\nls\n```': (
            "docs/a.md:3: width and returncode are whole numbers: invalid literal for int() with base 10: 'wide'"
        ),
        '```bash exec="on" workdri="docs"\nls\n```': "docs/a.md:3: unknown option 'workdri': is 'workdir' meant?",
        '```bash check="It is"\nls\n```': "docs/a.md:3: a check is written in `python`, not in bash",
    }  # fmt: skip
    for text, expected in cases.items():
        site.write({"docs/a.md": f"# A\n\n{text}\n"})
        pages, failures = site.render("a")
        assert [str(failure) for failure in failures] == [expected]
        assert "Traceback" not in pages


def test_an_editor_of_pyodide_loads_nothing_from_another_host(site: Site) -> None:
    site.write({"docs/a.md": "# A\n\n```pyodide\nprint(1)\n```\n"})
    pages, failures = site.render("a")
    assert "<script" not in pages
    assert [str(failure).partition(":3: ")[2] for failure in failures] == [
        'pyodide would load scripts from other hosts: publish them with the site, and say assets="no"'
    ]
    site.write({"docs/a.md": '# A\n\n```pyodide assets="no"\nprint(1)\n```\n\n```pyodide assets="no"\nprint(1)\n```\n'})
    first, failures = site.render("a")
    assert failures == []
    assert "https:" not in first
    assert re.findall(r'id="([^"]*)editor"', first) == ["editor-1-", "editor-2-"]
    assert site.render("a")[0] == first


@pytest.mark.parametrize(
    ("inputs", "runs"), [("", "ab"), (' inputs="data"', "a"), (' inputs=""', "a")], ids=["unsaid", "named", "none"]
)
def test_a_page_with_a_shell_runs_in_every_build_unless_it_names_its_inputs(
    site: Site, inputs: str, runs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site.root)
    count = site.root.parent / "count"
    block = f'```bash exec="on"{inputs}\nprintf x >> {count}\ncat data/*\n```'
    site.write({"docs/a.md": f"# A\n\n{block}\n", "data/one": "first\n"})
    for _ in runs, runs:
        site.build()
    assert len(count.read_text()) == len(runs)
    is_named = any("docs/a.md is not kept: it read what `bash` reads in docs/a.md:3" in message for message in site.log)
    assert is_named is (runs == "ab")
    (site.root / "data/one").write_text("second\n")
    site.build()
    assert ("second" in site.html("a")) is (inputs != ' inputs=""')
