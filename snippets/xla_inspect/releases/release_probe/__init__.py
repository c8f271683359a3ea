"""Compile programs under the JAX that is installed here, and leave what came of it in folders; stands alone.

    python -I -c "..." JOB.json

The interpreter of each release's own environment runs this package, so it imports nothing but JAX, keeps to what JAX
has offered for years, and to Python 3.9. What it leaves is read by the Python that started it. Its modules name each
other relatively, since the package stands by itself there.
"""
