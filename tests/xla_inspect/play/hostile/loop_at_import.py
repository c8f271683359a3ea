#: time
# The file never ends.
while True:
    pass
