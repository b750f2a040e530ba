"""Options that give shares, read alike by all verbs that have them."""

from __future__ import annotations

from tripwright.errors import UserError


def read_levels(text: str) -> tuple[int, int, int]:
    try:
        easy, medium, hard = (int(part) for part in text.split(":"))
    except ValueError:
        easy, medium, hard = -1, -1, -1
    if min(easy, medium, hard) < 0 or not any((easy, medium, hard)):
        raise UserError(
            f"--levels '{text}' are not three weights such as 4:3:3, for easy, medium and hard."
        )
    return easy, medium, hard
