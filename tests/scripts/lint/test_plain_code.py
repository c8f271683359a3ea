"""Docstrings and names follow the rules of the contributing reference, and the check finds those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lint import plain_code

if TYPE_CHECKING:
    from pathlib import Path

MODULE = '''"""What a module holds."""

LIMIT = 3
"""How many kernels are shown."""


def count_kernels(module):
    """Whether there are kernels."""
    found = [kernel for kernel in module]
    return found


class Plan:
    """The plan of one executable."""

    def read(self, told):
        """Return the plan."""
        return told
'''


def test_docstrings_and_names_are_plain() -> None:
    messages = [message for module in plain_code.list_modules() for message in plain_code.check_module(module)]
    if messages:
        pytest.fail("\n".join(messages), pytrace=False)


def test_a_package_leaves_the_list_when_it_is_rewritten() -> None:
    assert plain_code.list_clean_packages() == []


def test_a_question_word_and_a_participle_are_reported_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    assert plain_code.check_module(tmp_path / "module.py", tmp_path) == [
        "module.py:1: the docstring begins with 'What': name the thing or the action",
        "module.py:4: the docstring begins with 'How': name the thing or the action",
        "module.py:7: 'found' in count_kernels is a participle: use a noun for the value",
        "module.py:8: the docstring begins with 'Whether': name the thing or the action",
        "module.py:16: 'told' in read is a participle: use a noun for the value",
    ]
