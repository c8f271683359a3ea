#: result
import urllib.request

for path in ("/", "/start"):
    try:
        urllib.request.urlopen("http://127.0.0.1:{{PORT}}" + path, timeout=0.5).read()
    except Exception as error:
        print(type(error).__name__)


def f(x):
    return x * 2
