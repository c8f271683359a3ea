"""The additions of this site to `livepage`, which is independent of compilers."""
