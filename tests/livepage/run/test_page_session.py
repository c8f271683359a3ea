"""Sessions: one namespace for each page, which runs again only if a dependency changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Site

BLOCK = '```python exec="on"'


def test_output_of_a_block_is_shown_for_every_way_of_printing(site: Site) -> None:
    """The page shows what functions of modules print and `sys.stdout` gets, but not stderr."""
    site.write(
        {
            "snippets/speaks.py": "def speak():\n    print('from a module')\n",
            "docs/a.md": f"""
                # A

                {BLOCK}
                import inspect, sys
                import speaks

                def here():
                    pass

                speaks.speak()
                sys.stdout.write("\\nwritten\\n")
                print("\\nhidden", file=sys.stderr)
                print(inspect.getsource(here).count("pass"), "source")
                ```
                """,
        }
    )
    assert site.build() == []
    assert "from a module" in site.html("a")
    assert "written" in site.html("a")
    assert "hidden" not in site.html("a")
    assert "1 source" in site.html("a")


def test_a_page_that_shows_its_own_lines_runs_again_when_they_move(site: Site) -> None:
    """Both pages read their own files, as captures of functions on a page do; one says where its function stands."""

    def page(name: str, prose: str, shown_lines: str) -> dict[str, str]:
        text = f"""
            # A

            {prose}

            {BLOCK}
            import inspect

            def here(): ...

            open("{site.root}/docs/{name}.md").read()
            print({shown_lines})
            ```
            """
        return {f"docs/{name}.md": text}

    line = "inspect.getfile(here), inspect.getsourcelines(here)[1]"
    site.write(page("shows", "Prose.", line) | page("hides", "Prose.", "6 * 7"))
    assert site.build(serve=True) == []
    assert "docs/shows.md 8" in site.html("shows")
    more = f"Prose.{'\n' + ' ' * 12}More."
    site.write(page("shows", more, line) | page("hides", more, "6 * 7"))
    assert site.build(serve=True) == []
    assert "docs/shows.md 9" in site.html("shows")
    assert [text for text in site.log if "(1 run)" in text] != []


def test_every_page_that_uses_a_changed_module_runs_again(site: Site) -> None:
    """A page for which the module was loaded already runs again too."""
    page = f"# A\n\n{BLOCK}\nfrom parts import shared\nprint(shared.TEXT)\n```\n"
    site.write({"docs/a.md": page, "docs/b.md": page, "snippets/parts/shared.py": "TEXT = 'old'\n"})
    assert site.build(serve=True) == []
    site.write({"snippets/parts/shared.py": "TEXT = 'newer'\n"})
    assert site.build(serve=True) == []
    assert ["newer" in site.html(name) for name in ("a", "b")] == [True, True]


def test_a_failing_page_runs_again_and_recovers(site: Site) -> None:
    """The result of a failing page is never stored."""
    site.write({"docs/a.md": f"# A\n\n{BLOCK}\nimport helper\nprint(helper.X)\n```\n", "snippets/helper.py": "Y = 1\n"})
    assert len(site.build(serve=True)) == 1
    site.write({"snippets/helper.py": "X = 'healed'\n"})
    assert site.build(serve=True) == []
    assert "healed" in site.html("a")


def test_a_consequential_failure_is_not_reported(site: Site) -> None:
    """The first error of a page is the one to repair."""
    site.write({"docs/a.md": f"# A\n\n{BLOCK}\nx = 1 / 0\n```\n\n`= x`\n\n{BLOCK}\nprint(x)\n```\n"})
    assert site.build() == ["docs/a.md:4: ZeroDivisionError: division by zero"]


def test_an_included_program_keeps_its_own_lines(site: Site) -> None:
    """Its own line is reported even if a page includes only an indented part of it, with a data class."""
    program = """
        from __future__ import annotations

        from dataclasses import dataclass

        # --8<-- [start:part]
        @dataclass
        class Pair:
            left: Undefined
            right: int

        def fail():
            raise ValueError(Pair(1, 2))
        # --8<-- [end:part]
        """
    text = f"""
        # A

        1. Item

            {BLOCK} source="above"
            from __future__ import annotations
            from dataclasses import dataclass
            --8<-- "program.py:part"
            print(Pair(1, 2))
            fail()
            ```
        """
    site.write({"snippets/program.py": program, "docs/a.md": text})
    assert site.build() == ["snippets/program.py:12: ValueError: Pair(left=1, right=2)"]
