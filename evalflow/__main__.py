"""`python -m evalflow` is the same as `evalflow`."""

import sys

from evalflow.cli import script

if __name__ == "__main__":
    sys.exit(script())
