"""`python -m tilec` runs the command `tilec` with this Python interpreter."""

import sys

from tilec.commands.command_line import main

sys.exit(main())
