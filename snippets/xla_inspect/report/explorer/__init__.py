"""The explorer: step through the passes of a capture, and follow a line of Python through them."""
