"""Which number format is used, and that it is really used."""

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from tripwright.errors import UserError
from tripwright.inference import precision
from tripwright.inference.precision import PRECISIONS, autocast, precision_named

SIGNS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    precision.fastest.cache_clear()
    yield
    precision.fastest.cache_clear()


@pytest.mark.parametrize("bfloat16_takes, dtype", [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_bfloat16_only_where_it_is_faster(
    bfloat16_takes: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sign in SIGNS:
        monkeypatch.setattr(torch.cpu, sign, lambda: True, raising=False)
    seconds = {torch.bfloat16: bfloat16_takes, torch.float32: 1.0}
    monkeypatch.setattr(precision, "_seconds_of_product", seconds.__getitem__)
    assert precision.fastest() == dtype == precision.precision_named("auto")


def test_a_product_takes_time() -> None:
    assert 0 < precision._seconds_of_product(torch.float32) < 10


def test_without_instructions_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(precision, "_seconds_of_product")
    for sign in SIGNS:
        monkeypatch.setattr(torch.cpu, sign, lambda: False, raising=False)
    assert precision.fastest() == torch.float32
    for sign in SIGNS:  # a torch without the checks
        monkeypatch.delattr(torch.cpu, sign)
    precision.fastest.cache_clear()
    assert precision.fastest() == torch.float32


@pytest.mark.parametrize("name", [name for name in PRECISIONS if name != "auto"])
def test_products_are_made_in_the_format_asked_for(name: str) -> None:
    a = torch.ones(2, 2)
    with autocast(precision_named(name)):
        assert (a @ a).dtype == getattr(torch, name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"Unknown dtype 'int4'\. Accepted: auto, bfloat16, float16, float32"
    ):
        precision_named("int4")
