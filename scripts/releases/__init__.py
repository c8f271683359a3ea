"""The comparison of JAX releases: every program is compiled under each, and the differences are recorded."""
