"""Edits of a page: its blocks before and after, and those that run. A block is a letter, `:` or `!`, and code."""

from __future__ import annotations

ALL = "all"
"""What stands for each block of a page."""

type Case = tuple[list[str], list[str], str]

FUNCTION = "b: def f():\n    return 1"
X = ["a: x = 1", "b: y = x + 1", "c: print(y)", "d: print('alone')"]
CASES: dict[str, Case] = {
    "a number at the end": (X, [*X[:3], "d: print('changed')"], "d"),
    "a number at the start": (X, ["a: x = 2", *X[1:]], "abc"),
    "a number in the middle": (X, [X[0], "b: y = x + 2", *X[2:]], "bc"),
    "nothing but prose": (X, ["A sentence.", *X], ""),
    "the same number, written in another way": (X, ["a: x = 2 - 1", *X[1:]], "a"),
    "a name that is bound anew before it is used": (
        ["a: x = 1", "b: print(x)", "c: x = 5", "d: print(x)"],
        ["a: x = 2", "b: print(x)", "c: x = 5", "d: print(x)"],
        "ab",
    ),
    "a name that is bound anew only now and then": (
        ["a: x = 1", "b: y = 0", "c: if y:\n    x = 5", "d: print(x)"],
        ["a: x = 2", "b: y = 0", "c: if y:\n    x = 5", "d: print(x)"],
        "acd",
    ),
    "a name that binds the object it bound before": (
        ["a: x = 1", "b: x = 1", "c: print(x)"],
        ["a: x = 2", "b: x = 1", "c: print(x)"],
        "a",
    ),
    "the argument of a function that is called as the name is": (
        ["a: x = 1", "b: def f(x):\n    return x\nprint(f(3))"],
        ["a: x = 2", "b: def f(x):\n    return x\nprint(f(3))"],
        "a",
    ),
    "the variable of a comprehension that is called as the name is": (
        ["a: each = 1", "b: print([each for each in 'ab'], {each: 1 for each in 'cd'})"],
        ["a: each = 2", "b: print([each for each in 'ab'], {each: 1 for each in 'cd'})"],
        "a",
    ),
    "the variable of a loop that two blocks use": (
        ["a: for each in ([1], [2]):\n    print(each)", "b: for each in ([3], [4]):\n    print(each)"],
        ["a: for each in ([1], [9]):\n    print(each)", "b: for each in ([3], [4]):\n    print(each)"],
        "a",
    ),
    "what a function of the page reads where it is called": (
        ["a: n = 1", "b: def f():\n    return n", "c: print('none')", "d: print(f())"],
        ["a: n = 2", "b: def f():\n    return n", "c: print('none')", "d: print(f())"],
        "ad",
    ),
    "what a function reads that another calls": (
        [
            "a: n = 1",
            "b: def f():\n    return n",
            "c: def g():\n    return f()",
            "d: print(g())",
        ],
        [
            "a: n = 2",
            "b: def f():\n    return n",
            "c: def g():\n    return f()",
            "d: print(g())",
        ],
        "ad",
    ),
    "what a lambda reads that lies in a dictionary": (
        ["a: n = 1", "b: table = {'f': lambda: n}", "c: print(table['f']())"],
        ["a: n = 2", "b: table = {'f': lambda: n}", "c: print(table['f']())"],
        "abc",
    ),
    "a function": (
        ["a: def f():\n    return 1", "b: print(f())", "c: print('none')"],
        ["a: def f():\n    return 2", "b: print(f())", "c: print('none')"],
        "ab",
    ),
    "a class": (
        ["a: class C:\n    size = 1", "b: made = C()", "c: print(made.size)", "d: print('none')"],
        ["a: class C:\n    size = 2", "b: made = C()", "c: print(made.size)", "d: print('none')"],
        "abc",
    ),
    "a block that adds to a list": (
        ["a: rows = []", "b: rows.append(1)", "c: print(rows)", "d: print('none')"],
        ["a: rows = []", "b: rows.append(2)", "c: print(rows)", "d: print('none')"],
        "abc",
    ),
    "a block that reads a list before another adds to it": (
        ["a: rows = []", "b: print(len(rows))", "c: rows.append(1)", "d: print('none')"],
        ["a: rows = []", "b: print(len(rows), 'rows')", "c: rows.append(1)", "d: print('none')"],
        "abc",
    ),
    "a block that adds to a list now": (
        ["a: rows = [1]", "b: print('none')", "c: print(rows)"],
        ["a: rows = [1]", "b: rows.append(2)", "c: print(rows)"],
        "bc",
    ),
    "a block that adds to a list no longer": (
        ["a: rows = [1]", "b: rows.append(2)", "c: print(rows)"],
        ["a: rows = [1]", "b: print('none')", "c: print(rows)"],
        "abc",
    ),
    "a block that is gone, and added to a list": (
        ["a: rows = [1]", "b: rows.append(2)", "c: print(rows)"],
        ["a: rows = [1]", "c: print(rows)"],
        "ac",
    ),
    "a list that has two names": (
        ["a: rows = []", "b: same = rows", "c: same.append(1)", "d: print(rows)", "e: print('none')"],
        ["a: rows = []", "b: same = rows", "c: same.append(2)", "d: print(rows)", "e: print('none')"],
        "abcd",
    ),
    "a list that lies in another": (
        ["a: rows = []", "b: table = {'rows': (rows,)}", "c: table['rows'][0].append(1)", "d: print(rows)"],
        ["a: rows = []", "b: table = {'rows': (rows,)}", "c: table['rows'][0].append(2)", "d: print(rows)"],
        "abcd",
    ),
    "a function of the page that adds to a list": (
        ["a: rows = []", "b: def add():\n    rows.append(1)", "c: add()", "d: print(rows)", "e: print('none')"],
        ["a: rows = []", "b: def add():\n    rows.append(1)", "c: add()\nadd()", "d: print(rows)", "e: print('none')"],
        "acd",
    ),
    "an attribute of an object": (
        ["a: class Box: ...\nbox = Box()", "b: box.size = 1", "c: print(box.size)", "d: print('none')"],
        ["a: class Box: ...\nbox = Box()", "b: box.size = 2", "c: print(box.size)", "d: print('none')"],
        "abc",
    ),
    "an attribute of a class": (
        ["a: class Box:\n    size = 0", "b: Box.size += 1", "c: print(Box.size)", "d: print('none')"],
        ["a: class Box:\n    size = 0", "b: Box.size += 2", "c: print(Box.size)", "d: print('none')"],
        "abc",
    ),
    "an element of an array": (
        ["a: import numpy as np\nm = np.zeros(2)", "b: m[0] = 1", "c: print(m)", "d: print('none')"],
        ["a: import numpy as np\nm = np.zeros(2)", "b: m[0] = 2", "c: print(m)", "d: print('none')"],
        "abc",
    ),
    "an object that can be used up": (
        ["a: letters = iter('abc')", "b: print(next(letters))", "c: print(next(letters))", "d: print('none')"],
        ["a: letters = iter('abc')", "b: print(next(letters))", "c: print(next(letters), 2)", "d: print('none')"],
        "abc",
    ),
    "a function that remembers its calls": (
        [
            "a: import functools\n@functools.cache\ndef f(x):\n    print('called')\n    return x",
            "b: print(f(1))",
            "c: print(f(1))",
        ],
        [
            "a: import functools\n@functools.cache\ndef f(x):\n    print('called')\n    return x",
            "b: print(f(1))",
            "c: print(f(1), 2)",
        ],
        "abc",
    ),
    "a number that is added to": (
        ["a: n = 1", "b: n += 1", "c: print(n)"],
        ["a: n = 1", "b: n += 2", "c: print(n)"],
        "bc",
    ),
    "a block that is gone, and bound a name anew": (
        ["a: x = 1", "b: x = 2", "c: print(x)", "d: print('none')"],
        ["a: x = 1", "c: print(x)", "d: print('none')"],
        "c",
    ),
    "a block that is gone, and did nothing to others": (X, X[:3], ""),
    "a block that is new": (
        ["a: x = 1", "c: print(x)", "d: print('none')"],
        ["a: x = 1", "b: x = 2", "c: print(x)", "d: print('none')"],
        "bc",
    ),
    "blocks that change places": (
        ["a: x = 1", "b: x = 2", "c: print(x)"],
        ["b: x = 2", "a: x = 1", "c: print(x)"],
        "bc",
    ),
    "two blocks at once": (X, ["a: x = 2", *X[1:3], "d: print('changed')"], ALL),
    "a block that removes a name": (
        ["a: x = 1", "b: del x", "c: try:\n    print(x)\nexcept NameError:\n    print('gone')"],
        ["a: x = 1", "b: x = 3", "c: try:\n    print(x)\nexcept NameError:\n    print('gone')"],
        "bc",
    ),
    "a block that fails and is mended": (
        ["a: x = 1", "b: y = x / 0", "c: print(y)", "d: print('none')"],
        ["a: x = 1", "b: y = x / 2", "c: print(y)", "d: print('none')"],
        "bc",
    ),
    "a block that fails now": (
        ["a: x = 1", "b: y = x / 2", "c: print(y)", "d: print('none')"],
        ["a: x = 1", "b: y = x / 0", "c: print(y)", "d: print('none')"],
        "bc",
    ),
    "a block that is no Python now": (
        ["a: x = 1", "b: y = x / 2", "c: print(y)", "d: print('none')"],
        ["a: x = 1", "b: y = = 2", "c: print(y)", "d: print('none')"],
        "c",
    ),
    "what a check asserts": (
        ["a: x = 1", "b! assert x == 1", "c! assert x > 0", "d: print('none')"],
        ["a: x = 1", "b! assert x == 2", "c! assert x > 0", "d: print('none')"],
        "b",
    ),
    "what checks and values look at": (
        ["a: x = 1", "b! assert x == 1", "c! assert 2 > 1 + len('')", "It is `= x`."],
        ["a: x = 3", "b! assert x == 1", "c! assert 2 > 1 + len('')", "It is `= x`."],
        "ab",
    ),
    "a line above a function": (
        ["a: x = 1", FUNCTION, "c: print(str(f.__code__).split(', ', 1)[1])", "d: print('none')"],
        [
            "a: x = 1",
            "A line.",
            FUNCTION,
            "c: print(str(f.__code__).split(', ', 1)[1])",
            "d: print('none')",
        ],
        "bc",
    ),
    "a block that binds names by all names of a module": (
        ["a: from math import *", "b: print(pi)", "c: print('none')"],
        ["a: from math import *", "b: print(pi)", "c: print('other')"],
        ALL,
    ),
    "a block that runs text": (
        ["a: x = 1", "b: exec('x = 2')", "c: print(x)"],
        ["a: x = 1", "b: exec('x = 2')", "c: print(x, 1)"],
        ALL,
    ),
    "a block whose function sets a name of the page": (
        ["a: x = 1", "b: def f():\n    global x\n    x = 2", "c: f()", "d: print(x)"],
        ["a: x = 1", "b: def f():\n    global x\n    x = 2", "c: f()", "d: print(x, 1)"],
        ALL,
    ),
    "a block between two that set the environment": (
        ["a: import os\nos.environ['WORD'] = '1'", "b: print(os.environ['WORD'])", "c: del os.environ['WORD']"],
        ["a: import os\nos.environ['WORD'] = '1'", "b: print(os.environ['WORD'], 1)", "c: del os.environ['WORD']"],
        ALL,
    ),
    "a block between two that set an option of a library": (
        [
            "a: import jax\njax.config.update('jax_enable_x64', True)",
            "b: print(jax.numpy.ones(1).dtype)",
            "c: jax.config.update('jax_enable_x64', False)",
        ],
        [
            "a: import jax\njax.config.update('jax_enable_x64', True)",
            "b: print(jax.numpy.zeros(1).dtype)",
            "c: jax.config.update('jax_enable_x64', False)",
        ],
        ALL,
    ),
    "a block that sets an option of a library now": (
        ["a: import jax", "b: print('none')", "c: print(jax.numpy.ones(1).dtype)"],
        ["a: import jax", "b: jax.config.update('jax_enable_x64', True)", "c: print(jax.numpy.ones(1).dtype)"],
        "b" + ALL,
    ),
    "a block that puts something into a module": (
        ["a: import json", "b: json.word = 1", "c: print(json.word)", "d: del json.word"],
        ["a: import json", "b: json.word = 1", "c: print(json.word, 1)", "d: del json.word"],
        ALL,
    ),
    "a block that changes what a module of the project holds": (
        ["a: import helper", "b: helper.add()", "c: print(helper.rows)", "d: print('none')"],
        ["a: import helper", "b: helper.add()", "c: print(helper.rows)", "d: print('other')"],
        ALL,
    ),
    "a block that uses a module of the project": (
        ["a: import helper", "b: print(helper.WORD)", "c: print('none')"],
        ["a: import helper", "b: print(helper.WORD, 1)", "c: print('none')"],
        "b",
    ),
    "random numbers that all share": (
        ["a: import random\nrandom.seed(1)", "b: print(random.random())", "c: print(random.random())"],
        ["a: import random\nrandom.seed(1)", "b: print(random.random())", "c: print(random.random(), 1)"],
        ALL,
    ),
    "random numbers of one's own": (
        [
            "a: import random\nown = random.Random(1)",
            "b: print(own.random())",
            "c: print(own.random())",
            "d: print(1)",
        ],
        [
            "a: import random\nown = random.Random(1)",
            "b: print(own.random())",
            "c: print(own.random(), 1)",
            "d: print(1)",
        ],
        "abc",
    ),
}
