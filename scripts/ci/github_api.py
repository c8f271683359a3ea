"""Requests to GitHub's API through its command line `gh`, which reads the token from the environment."""

from __future__ import annotations

import json
import subprocess
from typing import Any


class GitHubError(Exception):
    """A failed request to GitHub, or a missing `gh`."""


def call(method: str, path: str, **fields: str) -> Any:  # noqa: ANN401 - any JSON value
    """Send a request to GitHub's API, and return its answer.

    Raises:
        GitHubError: `gh` is missing, or the request failed.
    """
    command = ["gh", "api", "--method", method, path]
    for name, value in fields.items():
        command += ["--raw-field", f"{name}={value}"]
    try:
        process = subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        message = "gh, the service's command line, is not on PATH"
        raise GitHubError(message) from error
    except subprocess.CalledProcessError as error:
        message = f"{method} {path} failed: {error.stderr.strip()}"
        raise GitHubError(message) from error
    return json.loads(process.stdout)
