"""Compile a program for a target and collect every stage: knows JAX, not HTML."""
