"""`python -m tripwright`, and the command `tripwright`: the front door, and Ctrl-C while it is
being opened, which takes a moment of imports."""

import sys


def main() -> int:
    try:
        from tripwright.cli.main import main as front_door

        return front_door()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
