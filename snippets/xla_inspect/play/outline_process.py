"""The process that reads code without running it: a text that breaks Python's own parser breaks no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.play.code_outline import outline
from xla_inspect.play.pipe_messages import read_messages

if TYPE_CHECKING:
    from xla_inspect.play.pipe_messages import Sender


def run(order: dict[str, Any], requests: int, sender: Sender) -> None:
    """Tell what code defines until the pipe is closed; messages are as in `compile_process.run`."""
    sender.send({"kind": "ready"})
    for job in read_messages(requests, order["mark"]):
        answer = {"job": job["job"]}
        sender.send({"kind": "begun", **answer})
        sender.send({"kind": "outline", **answer, "data": outline(**job["work"])})
        sender.send({"kind": "idle", **answer})
