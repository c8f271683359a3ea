#: crash, output, limit, time
# Another program in its place answers on every descriptor with what could be taken for an answer.
import os
import sys

for number in range(64):
    try:
        os.set_inheritable(number, True)
    except OSError:
        pass
SAYS = """
import os, pickle, json
event = {"event": "data", "target": "cpu", "part": "whole", "data": {"forged": True}, "seconds": {}}
for text in (json.dumps(event).encode() + b"\\n", pickle.dumps(event), b"\\xff" * 64):
    for number in range(64):
        try:
            os.write(number, text)
        except OSError:
            pass
"""
os.execv(sys.executable, [sys.executable, "-c", SAYS])
