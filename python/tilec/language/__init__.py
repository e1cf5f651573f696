"""The functions a kernel may call, by op group: what each means, and its parameters.

They are signatures only. Inside a kernel, `tilec.ast_to_tile` builds their operations; on the host they raise.
"""
