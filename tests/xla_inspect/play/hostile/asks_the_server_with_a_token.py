#: result, time
# Asks from within for what it is a part of.
import json
import urllib.request

body = json.dumps({
    "id": "inner", "client": "inner", "code": "def f(x):\n    return x", "function": "f", "arguments": "x: f32[2]",
    "targets": ["cpu"], "options": {},
}).encode()
head = {"X-Play-Token": "{{TOKEN}}", "Content-Type": "application/json"}
try:
    asked = urllib.request.Request("http://127.0.0.1:{{PORT}}/compile", body, head)
    print(len(urllib.request.urlopen(asked, timeout=1).read()))
except Exception as error:
    print(type(error).__name__)


def f(x):
    return x * 2
