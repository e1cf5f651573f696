"""The functions that kernels call, by op group.

The functions have no bodies: in a kernel, `tilec.ast_to_tile` builds their operations; on the host they raise.
"""
