"""The playground: a page on this machine on which code is edited, and what XLA makes of it seen."""
