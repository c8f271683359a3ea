"""Reading what the compiler wrote: modules, opcodes, shapes, fusions, buffers and what a pass changed."""
