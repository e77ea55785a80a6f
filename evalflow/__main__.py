"""`python -m evalflow` is the same as `evalflow`."""

import sys

from evalflow.cli import main

if __name__ == "__main__":
    sys.exit(main())
