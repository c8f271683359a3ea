"""The rules for prose that no library knows."""
