"""A self-contained program that compiles functions with the installed JAX and writes the results to folders.

    python -I -c "..." JOB.json

The interpreter of each release's environment runs this package. It therefore imports nothing but JAX, uses only
long-standing JAX features, and supports Python 3.9. The parent process reads the results. The modules import each
other relatively, because the package is not installed there.
"""
