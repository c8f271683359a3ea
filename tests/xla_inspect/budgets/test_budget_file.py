"""A budget file is validated completely before any compilation; errors suggest the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.budgets import read_budgets
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
[step]
subject = "train.py:step"
targets = ["h100:8", "tpu-v5e:2x4"]
mesh = { data = 8 }
in_spec = ["state=P('data')", "1=P()"]
out_spec = "P('data')"
donate = [0, "state"]
calls = ["f32[8]", "f32[9]"]
peak = "< 9 GiB"
kernels = 14
traces = 1
in_place = [0]
one_kernel = [["softmax", "scale"], ["norm"]]
no_copies = "1 MiB"
none = ["all-to-all", { kind = "all-gather", over = "data", larger_than = "1 MiB" }]
collectives = { kind = "all-reduce", bytes = "== 64 MiB", count = "<= 2" }
fits = ["tpu-v5e:4x4"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "xla-budget.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("sizes", ["{ batch = 8, heads = 2 }", '["batch=8", "heads=2"]', '"batch=8,heads=2"'])
def test_a_budget_may_have_sizes_of_open_dimensions(sizes: str, tmp_path: Path) -> None:
    [budget] = read_budgets(write(tmp_path, f'[step]\nsubject = "step.jaxexport"\ndim = {sizes}\n'))
    assert budget.call == {"dims": {"batch": 8, "heads": 2}}


@pytest.mark.parametrize("sizes", ["{ batch = 0 }", '"batch"'])
def test_a_size_that_is_no_size_is_reported(sizes: str, tmp_path: Path) -> None:
    with pytest.raises(InspectError, match="dim"):
        read_budgets(write(tmp_path, f'[step]\nsubject = "step.jaxexport"\ndim = {sizes}\n'))


def test_a_budget_file_lists_programs_with_their_budgets(tmp_path: Path) -> None:
    [budget] = read_budgets(write(tmp_path, WHOLE))
    assert (budget.name, budget.subject, budget.targets) == ("step", "train.py:step", ("h100:8", "tpu-v5e:2x4"))
    specs = {"in_spec": ("state=P('data')", "1=P()"), "out_spec": ("P('data')",)}
    assert budget.call == {"mesh": {"data": 8}, **specs, "donate": ("0", "state")}
    assert budget.calls == ("f32[8]", "f32[9]")
    assert list(map(str, budget.claims)) == [
        "peak < 9 GiB",
        "kernels 14",
        "traces 1",
        "in_place 0",
        "one_kernel softmax, scale",
        "one_kernel norm",
        "no_copies 1 MiB",
        "none kind all-to-all",
        "none kind all-gather, over data, larger_than 1 MiB",
        "collectives kind all-reduce, bytes == 64 MiB, count <= 2",
        "fits tpu-v5e:4x4",
    ]


STEP = '[step]\nsubject = "a.py:f"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no program; write one such as"),
        ("# nothing\n", "contains no program"),
        ("peak = 3\n", "'peak' is outside of any program; put it below a line such as [step]"),
        ("[step]\n", 'has no subject; name the function, as in subject = "train.py:step"'),
        ("[step\n", "is not valid TOML"),
        (STEP + STEP, "is not valid TOML: Cannot declare ('step',) twice"),
        (STEP + "peak = 1\npeak = 2\n", "is not valid TOML: Cannot overwrite a value"),
        (STEP + "paek = 3\n", "[step]: 'paek' is not known; did you mean 'peak'?"),
        (STEP + "zzz = 3\n", "[step]: 'zzz' is not known; there are apart, "),
        (STEP + 'peak = "9 gib"\n', "[step]: peak '9 gib': 'gib' is not a unit of bytes, did you mean 'GiB'?"),
        (STEP + 'kernels = "14 MiB"\n', "'MiB' is not a unit of a count"),
        (STEP + "kernels = true\n", "[step]: kernels must be a number or text such as 14, not True"),
        (STEP + 'target = "h1000"\n', "[step]: target: no target is named 'h1000'"),
        (STEP + 'targets = ["cpu", "cpu"]\n', "names a target twice: cpu, cpu"),
        (STEP + "subject = 3\n", "is not valid TOML"),
        ("[step]\nsubject = 3\n", "subject must be a text, not 3"),
        (STEP + "mesh = { data = 0 }\n", "mesh must be a table of axes and their sizes, such as { data = 8 }"),
        (STEP + "donate = 1.5\n", "donate must be the number or name of an argument"),
        (STEP + "one_kernel = 3\n", 'one_kernel must be a list of names, such as ["softmax", "scale"]'),
        (STEP + 'apart = ["a"]\n', "apart must be a list of names"),
        (STEP + 'none = "all-gathr"\n', "there is no collective 'all-gathr'; did you mean 'all-gather'?"),
        (
            STEP + 'none = "copy"\n',
            "no collective 'copy'; `copies` and `copied` count copies and transposes, and ",
        ),
        (STEP + 'none = "transpose"\n', "and `no_copies` forbids them"),
        (STEP + 'none = "kernel"\n', "kernels is a number of its own, as in `kernels == 0`"),
        (STEP + 'none = "zzz"\n', "there are all-gather, "),
        (STEP + "none = { king = 3 }\n", "'king' is not known; did you mean 'kind'?"),
        (STEP + 'collectives = { kind = "all-reduce" }\n', "a table with one of bytes, sent, count"),
        (STEP + 'collectives = { bytes = "recorded" }\n', "single collectives are not recorded"),
        (STEP + "no_copies = false\n", "no_copies must be true, or the size of the largest copy that is allowed"),
        (STEP + "fits = false\n", "fits must be true, or targets"),
        (STEP + 'vmap = "3"\n', "vmap must be a number of at least 1"),
        (STEP + "grad = 1\n", "grad must be true or false"),
        (STEP + "xla = 3\n", "xla must be a table of options of XLA"),
    ],
)
def test_an_error_in_a_budget_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InspectError) as raised:
        read_budgets(write(tmp_path, text))
    assert message in str(raised.value)
    assert "xla-budget.toml" in str(raised.value)


def test_a_missing_or_binary_budget_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InspectError, match=r"no file .*; write one such as"):
        read_budgets(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InspectError, match="cannot read"):
        read_budgets(tmp_path / "binary.toml")
    with pytest.raises(InspectError, match="cannot read"):
        read_budgets(tmp_path)
