"""Which number format is used, and that it is really used."""

import pytest

torch = pytest.importorskip("torch")

from tripwright.inference import models
from tripwright.inference.models import PRECISIONS, autocast, precision_named

SIGNS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")


@pytest.mark.parametrize(
    ("found", "vendor", "dtype"),
    [
        ((), "AuthenticAMD", torch.float32),
        (SIGNS[:1], "AuthenticAMD", torch.bfloat16),
        (SIGNS[:1], "GenuineIntel", torch.float32),
        (SIGNS, "GenuineIntel", torch.bfloat16),
        (SIGNS[1:], "GenuineIntel", torch.bfloat16),
    ],
)
def test_bfloat16_only_where_it_is_faster(found, vendor, dtype, monkeypatch):
    for sign in SIGNS:
        monkeypatch.setattr(torch.cpu, sign, lambda sign=sign: sign in found, raising=False)
    monkeypatch.setattr(models, "_vendor", lambda: f"vendor_id : {vendor}")
    assert models.fastest() == dtype == models.precision_named("auto")


def test_the_vendor_is_named():
    assert models._vendor()


def test_a_torch_without_the_checks_gets_float32(monkeypatch):
    for sign in SIGNS:
        monkeypatch.delattr(torch.cpu, sign, raising=False)
    assert models.fastest() == torch.float32


@pytest.mark.parametrize("name", [name for name in PRECISIONS if name != "auto"])
def test_products_are_made_in_the_format_asked_for(name):
    a = torch.ones(2, 2)
    with autocast(precision_named(name)):
        assert (a @ a).dtype == getattr(torch, name)
