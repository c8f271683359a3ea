"""Values that depend on the moment or the machine, found by a run in another environment."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from livepage import other_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Site

SHOWN = {
    "time": "import time; print(time.time())",
    "clock": "import time; print(time.strftime('%Y'))",
    "date": "import datetime; print(datetime.date.today())",
    "now": "from datetime import datetime; print(datetime.now().year)",
    "random": "import random; print(random.random())",
    "numpy": "import numpy; print(numpy.random.rand())",
    "hash": "print(hash('kernel'))",
    "set": "print(*{'fusion', 'copy', 'dot', 'reduce', 'while', 'map'})",
    "identity": "print(id(object) + id([]))",
    "cores": "import os; print(os.cpu_count())",
    "zone": "import time; print(time.tzname)",
    "run": "import sys; sys.ran = getattr(sys, 'ran', 0) + 1; print(sys.ran)",
    "value": "",
}
KEPT = {
    "plain": "print('the same', [1, 2], sorted({'b', 'a'}))",
    "fixed": "import datetime as d; print(d.date(2026, 1, 2), isinstance(d.datetime.now(), d.datetime))",
    "seeded": "import random; print(random.Random(0).random())",
}


@pytest.fixture(scope="module")
def elsewhere(shared_site: Site) -> Iterator[other_machine.Twin]:
    """The second environment of one site."""
    texts = {
        name: f'# A\n\n```python exec="on"\nx = 1\n```\n\n```python exec="on"\n{code}\n```\n'
        for name, code in (SHOWN | KEPT).items()
    }
    texts["value"] = "# A\n\nIt is `= 1`,\nor so, and `= hash('kernel')`.\n"
    shared_site.write({f"docs/{name}.md": text for name, text in texts.items()})
    with other_machine.Twin(shared_site.root) as twin:
        yield twin


def compare(site: Site, elsewhere: other_machine.Twin, name: str) -> list[str]:
    with contextlib.chdir(site.root):
        site.render(name)
        return elsewhere.compare(site.root / f"docs/{name}.md", site.last)


@pytest.mark.parametrize("name", SHOWN)
def test_values_of_the_moment_or_machine_are_reported_with_their_line(
    shared_site: Site, elsewhere: other_machine.Twin, name: str
) -> None:
    line = 4 if name == "value" else 7
    differences = compare(shared_site, elsewhere, name)
    start = f"docs/{name}.md:{line}: run again elsewhere, this shows "
    assert differences != []
    assert [difference for difference in differences if not difference.startswith(start)] == []


@pytest.mark.parametrize("name", KEPT)
def test_stable_values_pass(shared_site: Site, elsewhere: other_machine.Twin, name: str) -> None:
    assert compare(shared_site, elsewhere, name) == []


def test_only_a_statement_that_takes_long_in_a_second_run_is_reported(
    shared_site: Site, elsewhere: other_machine.Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_machine, "_LONGEST", 1.0)
    code = "import sys\nimport time\n\nsys.runs = getattr(sys, 'runs', 0) + 1\nif sys.runs {} 2:\n    time.sleep(1.5)"
    for name, comparison in (("slow", "=="), ("slow_once", "<")):
        text = f'# A\n\n```python exec="on"\n{code.format(comparison)}\n```\n'.replace("runs", f"{name}_runs")
        shared_site.write({f"docs/{name}.md": text})
    [difference] = compare(shared_site, elsewhere, "slow")
    assert difference.startswith("docs/slow.md:8: this takes ")
    assert compare(shared_site, elsewhere, "slow_once") == []


def test_a_page_that_agreed_is_not_run_again_until_its_output_changes(
    shared_site: Site, elsewhere: other_machine.Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '# A\n\n```python exec="on"\nprint("the same")\n```\n'
    shared_site.write({"docs/stable.md": text})
    assert compare(shared_site, elsewhere, "stable") == []
    assert other_machine.has_agreed(shared_site.last, "docs/stable.md")
    with other_machine.Twin(shared_site.root) as other, monkeypatch.context() as patch:
        patch.setattr(other, "ask", lambda page: pytest.fail(f"{page} runs again"))
        assert compare(shared_site, other, "stable") == []
    shared_site.write({"docs/stable.md": text.replace("the same", "another")})
    with contextlib.chdir(shared_site.root):
        shared_site.render("stable")
    assert not other_machine.has_agreed(shared_site.last, "docs/stable.md")
