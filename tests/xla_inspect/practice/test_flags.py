"""XLA_FLAGS: parsing, and messages about flags that XLA rejects."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from xla_inspect import targets
from xla_inspect.errors import InspectError
from xla_inspect.practice import flags

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("--xla_dump_to=dump", {"xla_dump_to": "dump"}),
        ("--xla_a --xla_b=1  -xla_c=x", {"xla_a": "", "xla_b": "1", "xla_c": "x"}),
        ("--xla_dump_to='a folder' --xla_b=2", {"xla_dump_to": "a folder", "xla_b": "2"}),
        (r"--xla_dump_to=C:\dumps\x", {"xla_dump_to": r"C:\dumps\x"}),
        ("--xla_dump_hlo_pass_re=.* --xla_cpu_max_isa=AVX2", {"xla_dump_hlo_pass_re": ".*"}),
    ],
)
def test_the_readers_flags_are_read_without_our_own(
    text: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "name_isa", lambda: "AVX2")
    monkeypatch.setenv("XLA_FLAGS", text)
    assert flags.given() == expected


def test_a_variable_without_a_dash_names_a_file_of_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "flags.txt"
    file.write_text("--xla_dump_to=dump\n--xla_b=1\n", encoding="utf-8")
    monkeypatch.setenv("XLA_FLAGS", str(file))
    assert flags.given() == {"xla_dump_to": "dump", "xla_b": "1"}
    assert flags.dump_folder() == "dump"
    monkeypatch.setenv("XLA_FLAGS", str(tmp_path / "none.txt"))
    assert flags.given() == {}


UNKNOWN = "XLA_FLAGS has what this XLA does not know"
ABORTED = "Fix it or unset the variable: XLA would end the process"
UNREAD = "which XLA cannot read; see its type in XLA's xla.proto"
NO_FILE = "what does not start with a dash is the name of a file of flags, and there is no such file"
FORM = "Flags start with two dashes, as in XLA_FLAGS=--xla_dump_to=dump"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--xla_dumpto=x --xla_gpu_autotune_level=0", f"{UNKNOWN}: --xla_dumpto. Did you mean --xla_dump_to?"),
        ("--zzz", f"{UNKNOWN}: --zzz. {ABORTED}"),
        ("--zzz --yyy=1", f"{UNKNOWN}: --zzz, --yyy. {ABORTED}"),
        ("--xla_gpu_autotune_level=high", f"XLA_FLAGS gives --xla_gpu_autotune_level the value 'high', {UNREAD}"),
        ("xla_dump_to=x", f"XLA_FLAGS is 'xla_dump_to=x': {NO_FILE}. {FORM}"),
        ("'--xla_dump_to=x'", f"XLA_FLAGS is \"'--xla_dump_to=x'\": {NO_FILE}. {FORM}"),
    ],
)
def test_a_flag_that_would_end_the_process_is_an_error(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", text)
    with pytest.raises(InspectError) as error:
        flags.check()
    assert str(error.value) == message


def test_xla_does_end_the_process_for_an_unknown_flag() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices(); print('alive')"],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--zzz"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert "Unknown flag in XLA_FLAGS: --zzz" in ended.stderr


def test_no_flags_ask_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "_run", lambda *_: pytest.fail("a process was started"))
    monkeypatch.setenv("XLA_FLAGS", "")
    flags.check()
    monkeypatch.setattr(targets, "name_isa", lambda: "AVX2")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    flags.check()


LATE = """
import os
from xla_inspect import InspectError
from xla_inspect.practice import flags
import jax

def ask():
    try:
        flags.check()
    except InspectError as error:
        return str(error)
    return "fine"

os.environ["XLA_FLAGS"] += " --xla_dump_hlo_pass_re=a"
print(ask())
jax.devices()
print(ask())
os.environ["XLA_FLAGS"] = os.environ["XLA_FLAGS"].replace("=a", "=b")
print(ask())
"""


def test_flags_set_after_the_start_of_jax_are_reported_as_late() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_dump_max_hlo_modules=7"}
    ended = subprocess.run([sys.executable, "-c", LATE], env=environment, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    first, second, third = ended.stdout.splitlines()
    assert (first, second) == ("fine", "fine")
    assert third.startswith("XLA_FLAGS was set too late: XLA read it when JAX started, and does not read it again. ")
    assert "restart the kernel" in third
