#: result, loading
import sys

sys.stdout.reconfigure(errors="surrogatepass")
print("\ud800\udfff \udcff")


def f(x):
    return x * 2
