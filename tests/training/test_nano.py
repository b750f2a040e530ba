"""The model made on the spot looks back from its first step on."""

import pytest

torch = pytest.importorskip("torch")

from tripwright.training.fit import FIXED_TOKENS
from tripwright.training.nano import NanoShape, make_tokenizer, new_model


def test_the_first_layer_looks_one_and_two_tokens_back(nano_tokenizer):
    model = new_model(NanoShape(), nano_tokenizer, seed=3)
    model.set_attn_implementation("eager")
    ids = torch.randint(len(nano_tokenizer), (1, 300), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        (weights,) = model(ids, output_attentions=True).attentions[0]
    for head, back in enumerate((1, 1, 2, 2)):
        assert weights[head].diagonal(-back).mean() > 0.7


def test_how_many_tokens_there_are_in_any_case_is_known_beforehand():
    assert len(make_tokenizer([], (), superwords=0)) == FIXED_TOKENS
