"""Mistakes that other engines ignore fail a strict build here, with page and line."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Site

BLOCK = '```python exec="on"'

# Page, its text, and what the build must say of it.
TRAPS = {
    "raises": (
        f"# A\n\n{BLOCK}\nx = 1\n\nundefined\n```\n",
        "docs/raises.md:6: NameError: name 'undefined' is not defined",
    ),
    "front_matter": (
        f"---\ndescription: x\n---\n# A\n\n{BLOCK}\n1 / 0\n```\n",
        "docs/front_matter.md:7: ZeroDivisionError",
    ),
    "syntax": (f"# A\n\n{BLOCK}\nx = 1\nx = = 2\n```\n", "docs/syntax.md:5: SyntaxError: invalid syntax"),
    "nested": (
        (
            f'# A\n\n!!! note\n\n    === "T"\n\n        {BLOCK}\n        x = 1\n'
            '        raise ValueError("deep")\n        ```\n'
        ),
        "docs/nested.md:9: ValueError: deep",
    ),
    "quoted": (f"# A\n\n> {BLOCK}\n> x = 1\n> x.y\n> ```\n", "docs/quoted.md:5: AttributeError: 'int' object has no"),
    "function": (
        f"# A\n\n{BLOCK}\ndef f():\n    raise KeyError(3)\n```\n\n{BLOCK}\nf()\n```\n",
        "docs/function.md:9: KeyError: 3",
    ),
    "imported": (
        f"# A\n\n{BLOCK}\nimport dividing\n\ndividing.divide()\n```\n",
        "docs/imported.md:6: ZeroDivisionError: division by zero (raised at snippets/dividing.py:2)",
    ),
    "included": (
        f'# A\n\n{BLOCK}\nx = 1\n--8<-- "broken.py"\n```\n',
        "snippets/broken.py:3: RuntimeError: in the file",
    ),
    "included_page": ('# A\n\n--8<-- "part.md"\n', "snippets/part.md:3: ZeroDivisionError"),
    "leaves": (f"# A\n\n{BLOCK}\nimport sys\nsys.exit(0)\n```\n", "docs/leaves.md:5: SystemExit: 0"),
    "leaves_in_value": ("# A\n\nIt is `= exit()`.\n", "docs/leaves_in_value.md:3: SystemExit: None"),
    "unquoted": ("# A\n\n```python exec=on\nx = 1\n```\n", "docs/unquoted.md:3: cannot read 'exec=on'"),
    "unknown": ('# A\n\n```python exec="on" sauce="above"\nx = 1\n```\n', "docs/unknown.md:3: unknown option 'sauce'"),
    "nowhere": (
        '# A\n\n```python exec="on" source="nowhere"\nx = 1\n```\n',
        'docs/nowhere.md:3: source="nowhere" is not one of',
    ),
    "misspelt": ('# A\n\n```python exce="on"\nx = 1\n```\n', "docs/misspelt.md:3: unknown option 'exce'"),
    "unclosed": (f"# A\n\n{BLOCK}\nx = 1\n", "docs/unclosed.md:3: this fence is never closed"),
    "in_item": (
        '# A\n\n- ```python exec="on"\n  x = 1\n  ```\n',
        "docs/in_item.md:3: a fence cannot open on the line of a list item",
    ),
    "in_html": ("# A\n\n<div>\n`= 1 + 1`\n</div>\n", "docs/in_html.md:4: this value is not on the page"),
    "in_code": ("# A\n\nText.\n\n    `= 1 + 1`\n", "docs/in_code.md:5: this value is not on the page"),
    "value": ("# A\n\nText,\nand `= missing`.\n", "docs/value.md:4: NameError: name 'missing' is not defined"),
    "value_in_table": (
        "# A\n\n| a | b |\n|---|---|\n| 1 | `= 1 / 0` |\n",
        "docs/value_in_table.md:5: ZeroDivisionError",
    ),
    "heading": ("# A\n\n## Title `= 1`\n", "docs/heading.md:3: a heading with a value needs an explicit id"),
    "underlined": ("# A\n\nTitle `= 1`\n-----\n", "docs/underlined.md:3: a heading with a value needs an explicit id"),
    "check": (
        '# A\n\n```python check="Two is three."\ntwo = 2\nassert two == 3\n```\n',
        "docs/check.md:5: AssertionError: left was 2, right was 3",
    ),
    "no_claim": (
        '# A\n\n```python check=""\nassert True\n```\n',
        "docs/no_claim.md:3: a check says its claim in one sentence",
    ),
    "ids": ("# A\n\n## B {#same}\n\n## C {#same}\n", 'docs/ids.md:5: two elements have the id "same"'),
    "block_ids": (
        (
            f'# A\n\n{BLOCK} idprefix=""\nprint("## B {{#same}}")\n```\n\n'
            f'{BLOCK} idprefix=""\nprint("## C {{#same}}")\n```\n'
        ),
        'docs/block_ids.md:8: two elements have the id "same"',
    ),
    "dead": ("# A\n\nSee\n[x](missing.md).\n", "docs/dead.md:4: Doc file 'dead.md' contains a link 'missing.md'"),
    "dead_in_block": (
        f'# A\n\n{BLOCK}\nprint("[x](lost.md)")\n```\n',
        "docs/dead_in_block.md:4: Doc file 'dead_in_block.md' contains a link 'lost.md'",
    ),
    "made_in_block": (
        f'# A\n\n{BLOCK}\nprint("[x](" + "lost" * 2 + ".md)")\n```\n',
        "docs/made_in_block.md:3: Doc file",
    ),
    "dead_anchor": (
        f'# A\n\n{BLOCK}\nprint("[x](index.md#no)")\n```\n',
        "docs/dead_anchor.md:4: Doc file 'dead_anchor.md' contains a link",
    ),
    "dead_html": ('# A\n\n<svg><a href="#no">x</a></svg>\n', 'docs/dead_html.md:3: the link "#no" leads nowhere'),
    "dead_state": (
        '# A\n\n<p><a href="#x=no&amp;view=passes">x</a></p>\n',
        'docs/dead_state.md:3: the link "#x=no&amp;view=passes" leads nowhere',
    ),
    "raw_html": (
        '# A\n\n<div><a href="index.md">x</a></div>\n',
        'docs/raw_html.md:3: the link "index.md" leads nowhere',
    ),
    "printed_fence": (
        f"# A\n\n{BLOCK}\nprint('```python exec=\"on\"\\n1\\n```')\n```\n",
        "docs/printed_fence.md:3: a block printed a fence",
    ),
    "reference": ("# A\n\nSee [this][nowhere].\n", 'docs/reference.md:3: nothing defines "[this][nowhere]"'),
    "short_reference": ("# A\n\nSee [this][].\n", 'docs/short_reference.md:3: nothing defines "[this][]"'),
    "footnote": ("# A\n\nSo it is.[^1]\n", 'docs/footnote.md:3: nothing defines "[^1]"'),
    "printed_reference": (
        f'# A\n\n{BLOCK}\nprint("[this][nowhere]")\n```\n',
        'docs/printed_reference.md:3: nothing defines "[this][nowhere]"',
    ),
    "late_lines": (
        '# A\n\n```python\n--8<-- "dividing.py:9000:9010"\n```\n',
        "docs/late_lines.md:4: SnippetMissingError: Snippet at path 'dividing.py' has 2 lines",
    ),
    "more_lines": (
        '# A\n\n```python\n--8<-- "dividing.py:1:10"\n```\n',
        "docs/more_lines.md:4: SnippetMissingError: Snippet at path 'dividing.py' has 2 lines",
    ),
    "lost_include": ('# A\n\n--8<-- "lost.py"\n', "docs/lost_include.md:3: SnippetMissingError"),
}


@pytest.fixture(scope="module")
def warnings(shared_site: Site) -> Iterator[list[str]]:
    """The warnings of one build of a site with every trap."""
    shared_site.write({f"docs/{name}.md": text for name, (text, _) in TRAPS.items()})
    shared_site.write(
        {
            "snippets/dividing.py": "def divide():\n    return 1 / 0\n",
            "snippets/broken.py": "y = 2\n\nraise RuntimeError('in the file')\n",
            "snippets/part.md": "Text.\n\nIt is `= 1 / 0`.\n",
        }
    )
    snippets = str(shared_site.root / "snippets")
    sys.path.append(snippets)
    yield shared_site.build()
    sys.path.remove(snippets)


def test_defined_references_and_other_brackets_are_unchanged(site: Site) -> None:
    text = """
        # A

        [this][here], [here][], [here], a footnote[^1], `[x][y]`, x[1][2], \\[a\\]\\[b\\], and `= "[p][q]"`.

            [code][code]

        [here]: index.md
        [^1]: Said.
        """
    site.write({"docs/a.md": text, "snippets/two.py": "x = 1\ny = 2\n"})
    assert site.render("a")[1] == []


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_fails_the_build_with_page_and_line(warnings: list[str], name: str) -> None:
    """Each trap is reported once, at the line that a reader would point at."""
    expected = TRAPS[name][1]
    assert [expected] == [warning[: len(expected)] for warning in warnings if expected in warning]


def test_no_page_is_blamed_for_anything_else(warnings: list[str]) -> None:
    """The build gives exactly one warning for each trap."""
    assert len(TRAPS) == len(warnings), "\n".join(sorted(warnings))


def test_no_traceback_reaches_a_page(shared_site: Site, warnings: list[str]) -> None:
    """The page shows that something is missing, and no more."""
    assert warnings
    assert "Traceback" not in "".join(shared_site.html(name) for name in TRAPS)
    assert "This part did not run in this build." in shared_site.html("raises")


@pytest.mark.parametrize(
    "name", sorted(set(TRAPS) - {"dead", "dead_in_block", "made_in_block", "dead_anchor", "raw_html"})
)
def test_tests_and_build_report_the_same_traps(shared_site: Site, warnings: list[str], name: str) -> None:
    """Only links to other pages need the whole site."""
    assert warnings
    _, failures = shared_site.render(name)
    assert TRAPS[name][1] in "\n".join(map(str, failures))


def test_an_unknown_compiler_flag_is_reported_with_page_and_line(site: Site) -> None:
    """XLA ends the process of the page without a Python exception; the build still names the line."""
    text = f"""
        # A

        {BLOCK}
        import os
        os.environ["XLA_FLAGS"] = "--xla_no_such_flag"
        import jax
        jax.jit(lambda x: x)(1)
        ```
        """
    site.write({"docs/aborts.md": text})
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=site.root,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "docs/aborts.md:7: this line ended the process, with " in result.stderr
