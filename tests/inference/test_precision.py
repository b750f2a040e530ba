"""Which number format is used, and that it is really used."""

import pytest

torch = pytest.importorskip("torch")

from tripwright.errors import UserError
from tripwright.inference.precision import PRECISIONS, autocast, fastest, precision_named


def signs(monkeypatch: pytest.MonkeyPatch, **found: bool) -> None:
    for sign in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(
            torch.cpu, sign, lambda sign=sign: found.get(sign, False), raising=False
        )


def test_bfloat16_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    signs(monkeypatch)
    assert fastest() == torch.float32
    signs(monkeypatch, _is_amx_tile_supported=True)
    assert fastest() == torch.bfloat16 == precision_named("auto")


def test_a_torch_without_the_checks_gets_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    for sign in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, sign, raising=False)
    assert fastest() == torch.float32


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
