"""The command line: one plain function per verb, in a file named after it. main.py lists them."""
