"""The functions that kernels call, by op group.

They are signatures only: in a kernel, `tilec.ast_to_tile` builds their operations; on the host they raise.
"""
