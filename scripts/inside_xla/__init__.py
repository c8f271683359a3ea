"""What this site adds to `livepage`, which knows nothing of compilers."""
