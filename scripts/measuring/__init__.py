"""The measurements that need an idle machine, or hardware that a build lacks; the results are recorded in docs/data."""
