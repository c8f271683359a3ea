"""Compile every program under several releases of JAX, each in an environment of its own, and keep what differs."""
