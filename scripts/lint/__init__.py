"""The project's own rules for prose and code, which no library checks."""
