"""The work of operations and of loops on one SM, by the model of the device. Imports ir, loops and memory."""
