"""The errors that this package raises. Their messages state the problem, its place, and the remedy."""


class InspectError(Exception):
    """Base class of all errors that `xla_inspect` raises."""


class TargetUnavailableError(InspectError):
    """An error about a target that this machine cannot compile for.

    Args:
        target: The short name of the target, such as `tpu-v5e`.
        reason: The reason why this machine cannot compile for it, and the package to install.
    """

    def __init__(self, target: str, reason: str) -> None:
        """Store the target and the reason, so that callers can show them."""
        super().__init__(f"target {target!r} is not available here: {reason}")
        self.target = target
        self.reason = reason


class HloSyntaxError(InspectError):
    """An error in HLO text.

    Args:
        message: The expected or the unexpected text.
        line: One-based line in the text.
        column: One-based column in that line.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        """Store the position and the message."""
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column
