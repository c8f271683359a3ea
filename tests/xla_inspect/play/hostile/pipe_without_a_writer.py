#: time
import os

os.mkfifo("never")
with open("never") as pipe:
    pipe.read()
