"""The format of a profile is detected from its content; invalid files are rejected in two lines."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import profiles
import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.errors import InspectError
from xla_inspect.traces import measure_times, open_trace

NESTED = b'{"traceEvents": [' + b'{"args": ' * 100_000
NO_TRACE = {
    "nothing": b"",
    "nothing that is compressed": gzip.compress(b""),
    "zeros": bytes(1000),
    "prose": b"Dear reader, this is a letter.\n" * 99,
    "a table of something else": b"a,b,c\n1,2,3\n",
    "JSON of something else": b'{"a": 1, "b": [1, 2]}',
    "a list that is none": b'{"traceEvents": 7}',
    "no JSON": b"{traceEvents: []}",
    "JSON that is cut off": b'{"traceEvents": [{"ph": "X", "na',
    "JSON that is cut off between events": b'{"traceEvents": [{}, ',
    "Latin-1": b'{"traceEvents": [{"name": "\xe9"}]}',
    "Latin-1 in a table": b"Start (ns),Duration (ns),Name\n1,2,\xe9\n",
    "what is nested deeply": NESTED,
    "a database of Nsight": b"SQLite format 3\0" + bytes(100),
    "a compressed message": gzip.compress(b"\x0a\x05\x12\x03abc"),
    "compressed and cut off": gzip.compress(b'{"traceEvents": []}' * 999)[:-20],
    "compressed and damaged": gzip.compress(b'{"traceEvents": [' + b"{}," * 9999)[:40] + bytes(60),
    "a message that is none": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    "a message without a name": b"\x0a\x02\x08\x01",
}


@pytest.mark.parametrize("content", NO_TRACE.values(), ids=NO_TRACE)
def test_an_invalid_profile_is_rejected_in_two_lines(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(InspectError) as raised:
        measure_times(open_trace(path))
    what, what_to_do = str(raised.value).split("\n")
    assert str(path) in what
    assert what_to_do


def test_no_file_and_a_folder_without_a_profile_are_refused(tmp_path: Path) -> None:
    device = Path(os.devnull)
    for path, message in ((tmp_path / "none", "No such file"), (tmp_path, "no profile in"), (device, "is a device")):
        with pytest.raises(InspectError, match=message):
            open_trace(path)


def test_a_folder_means_the_newest_profile_in_it(tmp_path: Path) -> None:
    profile = profiles.profile_gpu(capture(scanned, *EXAMPLE, target="h100"))
    for at, name in enumerate(("old", "new")):
        folder = tmp_path / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        path = profiles.write_xspace(folder / "host.xplane.pb", profile)
        os.utime(path, (at, at))
    assert open_trace(tmp_path).path.parent.name == "new"


@pytest.mark.parametrize("form", ["pb", "json", "json.gz", "csv"])
def test_damage_anywhere_is_read_or_refused(form: str, tmp_path: Path) -> None:
    profile = profiles.profile_gpu(capture(scanned, *EXAMPLE, target="h100"), steps=1)
    write = {"pb": profiles.write_xspace, "csv": profiles.write_nsight}.get(form, profiles.write_chrome)
    whole = write(tmp_path / f"whole.{form}", profile).read_bytes()
    chance = random.Random(0)  # noqa: S311 - which bytes are damaged is to be the same each time
    refusals: list[str] = []
    for at in range(150):
        data = bytearray(whole)
        if at % 3:
            for _ in range(chance.randrange(1, 9)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        else:
            del data[chance.randrange(len(data)) :]
        path = tmp_path / f"{at}.{form}"
        path.write_bytes(bytes(data))
        try:
            measure_times(open_trace(path))
        except InspectError as error:
            refusals.append(str(error))
    assert len(refusals) > 10
    assert {refusal.count("\n") for refusal in refusals} == {1}
