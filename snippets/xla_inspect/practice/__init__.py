"""The practice: five phases in which the reader inspects what a compiler makes of a program.

The commands are `python -m xla_inspect.basics`, `.jaxpr_demo`, `.hlo_dump`, `.optimization_compare` and `.main`.
What they share lies here:

* `phases` names the phases, `models` holds the programs that they show, and `texts` what help and pages both say;
* `compilation` compiles, for the targets of `device`, under the reader's `flags`, and `progress` tells of it meanwhile;
* `tables` says in rows what a capture holds, `equations` what a jaxpr holds, and `dumped` what a dump folder holds;
* `terminal` prints, `session` shows Python as it is typed, and `command` parses arguments and ends in order;
* `checking` marks the reader's exercises, and `notebook` shows all this in the notebooks.
"""
