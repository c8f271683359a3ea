#: result
# Letters that turn the line around, that look like others, and that are HTML.
import jax


def f(x):
    """‮⁦ turned </script><script>alert(1)</script>"""
    αאа = x * 2
    with jax.named_scope("</script><img src=x onerror=alert(1)>‮"):
        return αאа + 1
