"""What continuous integration does besides `scripts/test`: report, publish, try what is new."""
