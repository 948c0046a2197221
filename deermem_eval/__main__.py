"""Run the command as `python -m deermem_eval`."""

import sys

from deermem_eval.cli import main

if __name__ == "__main__":
    sys.exit(main())
