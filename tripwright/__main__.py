"""`python -m tripwright` is the same as `tripwright`."""

import sys

from tripwright.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
