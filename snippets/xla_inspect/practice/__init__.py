"""The practice: five phases in which the reader inspects what a compiler makes of a program.

`phases` names them, `models` holds the programs that they show, `steps` compiles and tells what it does meanwhile,
`flags` looks after `XLA_FLAGS`, `terminal` prints, `command` is what the commands have in common, and `tables` says in
rows what a capture holds. `checking` marks the reader's exercises.

The commands are `python -m xla_inspect.basics`, `.jaxpr_demo`, `.hlo_dump`, `.optimization_compare` and `.main`.
"""
