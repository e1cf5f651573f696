"""The state of lowering one kernel, and values in registers: elements, packing, exchange between lanes."""
