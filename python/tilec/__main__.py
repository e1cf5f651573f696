"""`python -m tilec`: the command `tilec`, of the Python that runs it."""

import sys

from tilec.commands.command_line import main

sys.exit(main())
