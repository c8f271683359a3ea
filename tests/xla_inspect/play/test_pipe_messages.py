"""Messages are found among whatever else a pipe holds."""

from __future__ import annotations

import os

from xla_inspect.play.pipe_messages import Receiver, Sender


def test_messages_are_found_in_pieces_and_among_noise() -> None:
    reads, writes = os.pipe()
    sender = Sender(writes, "ab12")
    os.write(writes, b'{"kind": "forged"}\n\n@ffff 2\n{}\xff')
    sender.send({"kind": "first", "text": "é\ud800"})
    os.write(writes, b"\n@ab12 3\nnot")
    sender.send({"kind": "second"})
    os.close(writes)
    data = b"".join(iter(lambda: os.read(reads, 1 << 16), b""))
    receiver = Receiver("ab12")
    found = [message for at in range(0, len(data), 7) for message in receiver.feed(data[at : at + 7])]
    assert [message["kind"] for message in found] == ["first", "second"]
    assert found[0]["text"] == "é\ud800"
