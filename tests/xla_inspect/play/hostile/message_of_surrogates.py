#: tracing
def f(x):
    raise ValueError("\ud800 \udcff \x00 \u202e </script><script>alert(1)</script>")
