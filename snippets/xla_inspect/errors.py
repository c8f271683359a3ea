"""The errors this package raises on purpose, each saying what was wrong, where, and what to do."""


class InspectError(Exception):
    """Base of every error raised on purpose by `xla_inspect`."""


class TargetUnavailableError(InspectError):
    """A target that this machine cannot compile for.

    Args:
        target: The short name of the target, such as `tpu-v5e`.
        reason: Why this machine cannot compile for it, and what to install.
    """

    def __init__(self, target: str, reason: str) -> None:
        """Keep the target and the reason for those who show the gap."""
        super().__init__(f"target {target!r} is not available here: {reason}")
        self.target = target
        self.reason = reason


class HloSyntaxError(InspectError):
    """HLO text that the reader does not understand.

    Args:
        message: What was expected or found.
        line: One-based line in the text.
        column: One-based column in that line.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        """Keep the position beside the message."""
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column
