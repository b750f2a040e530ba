"""Verdicts: what they are not to hold."""

import pytest

from tripwright.verdict import Group, Verdict, format_group


def test_a_fact_is_in_one_group():
    """Figures of facts go by their names: one of the two would be lost."""
    groups = (
        format_group(None),
        Group("table", ("budget", "seats"), None),
        Group("wishes", ("cuisine", "seats"), None),
    )
    assert Verdict("rules", groups[:2], False).final is False
    with pytest.raises(ValueError, match="the fact 'seats' is in two groups of this verdict"):
        Verdict("rules", groups, False)
