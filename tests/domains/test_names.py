"""Names of domains, dialects and faces: what comes twice is said, whoever came first."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tripwright import domains
from tripwright.domains import domain_named
from tripwright.errors import UserError

OWN = domain_named("travelplanner")
FACE = replace(OWN.dialects[0].face, name="mine")
DIALECT = replace(OWN.dialects[0], name="mine", face=FACE)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"name": "travelplanner"}, "domain 'travelplanner'"),
        ({"dialects": (replace(DIALECT, name="compact"),)}, "dialect 'compact'"),
        ({"dialects": (replace(DIALECT, face=replace(FACE, name="compact")),)}, "face 'compact'"),
        ({}, ""),
    ],
)
def test_a_name_that_comes_twice_is_said(changed, what, monkeypatch):
    theirs = replace(OWN, **{"name": "mine", "dialects": (DIALECT,), **changed})
    monkeypatch.setitem(sys.modules, "their.domain", SimpleNamespace(DOMAIN=theirs))
    monkeypatch.setattr(domains, "_modules", lambda: (*domains.ROWS.values(), "their.domain"))
    find = domains.domains.__wrapped__
    if not what:
        assert list(find()) == ["travelplanner", "deeptravel", "mine"]
        return
    with pytest.raises(
        UserError,
        match=(
            rf"The {what} is of two domains: 'travelplanner' \(.*\) and '{theirs.name}'"
            r" \(their\.domain\)"
        ),
    ):
        find()


def test_a_name_out_of_a_file_may_be_anything():
    with pytest.raises(UserError, match="Unknown domain"):
        domain_named(["x"])
