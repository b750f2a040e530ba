"""What a user can get wrong. The command line prints these as one line and exits with code 2; nothing else does."""


class UserError(ValueError):
    """Bad input from a person or a file: says what was asked, what was found and what would be accepted."""
