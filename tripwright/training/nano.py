"""A Qwen3-shaped model of a few million parameters, made on the spot.

Its weights are random but for three things (dev/LOG.md, 2026-11-23):
- heads of the first layer look one or two tokens back from the start. To copy, a model has to find
  what followed the same token earlier: one layer has to say of each token which one stood before
  it, and the next to look for that. Neither is of use without the other, which is why random
  weights take three times as long to find both;
- layers begin by adding nothing: what random ones add is louder than the embeddings;
- the last norm multiplies by LOUDNESS. With tied embeddings as small as they begin, the surest
  prediction has a probability of a few percent. Until embeddings have grown nothing else can be
  sure, and large ones drown in the residual stream what the layers find.

Its tokenizer is made on the spot as well, so that a tiny model can copy names and read short
episodes. Four kinds of token:
- control tokens of the chat format and the tags of calls and answers;
- *superwords*: whole stretches of fixed text (`","accommodation":"`), merged across words and
  punctuation. They shorten an episode severalfold. Words that carry content (names, cuisines,
  digits) never take part, so that a name is cut the same way in the request, in a tool answer and
  in the plan: otherwise copying it would be a translation;
- *terms*: entries of a domain's closed lists ("No smoking", "French"), so that comparing two is
  comparing two tokens;
- for everything else pairs of letters, digits one by one, and bytes, so that any text can be
  encoded. They are fixed before any world is drawn: a name of a training world is cut as finely as
  any other, and is never one token by chance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Annotated

import torch
from annotated_types import Ge
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from tripwright.agent.chat import BARE_TEMPLATE
from tripwright.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

Count = Annotated[int, Ge(1)]
# Of queries and keys of the first layer: in the default shape 0.9 of the attention goes where it
# should. Heads of 16 have one fast frequency, and look back hardly at all.
SHARPNESS = 1.5
LOUDNESS = 3.0
ROPE_THETA = 1e6  # Qwen3's; with 1e4 half as many frequencies see an episode from end to end


@dataclass(frozen=True)
class NanoShape:
    hidden: Count = 256
    layers: Count = 4
    heads: Count = 4
    kv_heads: Count = 2
    head_size: Count = 64
    feed_forward: Count = 768
    positions: Count = 2048

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            heads, kv_heads = self.heads, self.kv_heads
            raise UserError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads}).")
        if self.head_size % 2:
            raise UserError(f"head_size must be even: found {self.head_size}.")


def new_model(shape: NanoShape, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """Random weights, fp32, deterministic in the seed."""
    # seconds to import, which those who only read a recipe should not pay
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_size,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=shape.positions,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
    )
    model = Qwen3ForCausalLM(config)
    torch.nn.init.constant_(model.model.norm.weight, LOUDNESS)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    _look_back(model)
    return model


@torch.no_grad()
def _look_back(model: Qwen3ForCausalLM) -> None:
    """The heads of the first layer attend to the token before, or to the one before that, whatever
    the tokens are.

    All embeddings get a common part, which says nothing (with tied weights it adds the same to
    every logit). Queries and keys of the first layer read mostly that, so what they agree on is
    positions: keys are turned by the rotation of one position, or two, and meet their query so far
    back. The fastest frequencies tell neighbours apart.
    """
    config = model.config
    size = config.head_dim
    common_H = config.initializer_range * torch.randn(config.hidden_size)
    model.model.embed_tokens.weight += common_H
    attention = model.model.layers[0].self_attn
    attention.q_norm.weight.fill_(SHARPNESS)
    attention.k_norm.weight.fill_(SHARPNESS)
    is_fast = (torch.arange(size // 2) < max(1, size // 10)).float()
    frequency = model.model.rotary_emb.inv_freq
    query = torch.cat([is_fast, torch.zeros(size // 2)])
    attention.q_proj.weight += torch.outer(query.repeat(config.num_attention_heads), common_H)
    for head in range(config.num_key_value_heads):
        turn = frequency * (1 + head % 2)
        key = torch.cat([is_fast * turn.cos(), is_fast * turn.sin()])
        attention.k_proj.weight[head * size : (head + 1) * size] += torch.outer(key, common_H)


# ---- its tokenizer


ROLES = ("system", "user", "assistant", "tool")
END, PAD = "<|im_end|>", "<|pad|>"
TAGS = ("<tool_call>", "</tool_call>", "<answer>", "</answer>")
_LETTERS = ascii_uppercase + ascii_lowercase
_PAIRS = [first + second for first in _LETTERS for second in ascii_lowercase]
_CAPITALS = [first + second for first in ascii_uppercase for second in ascii_uppercase]
# what all other text is cut into; a further word of a name takes the blank before it along
LETTERS = (*_CAPITALS, *_PAIRS, *(f" {letters}" for letters in (*_LETTERS, *_PAIRS)))
_PIECE = re.compile(r"[A-Za-z]+|\d|[^A-Za-z\d]")


def make_tokenizer(
    texts: list[str],
    content_words: Iterable[str],
    terms: Iterable[str] = (),
    superwords: int = 320,
) -> PreTrainedTokenizerFast:
    """`texts`: assistant and tool messages, system prompts and requests. `content_words`: words
    that must stay themselves. `terms`: entries of closed lists, a token each."""
    from transformers import PreTrainedTokenizerFast

    terms = sorted(terms)
    wholes = {*terms, *superword_chunks(texts, {*content_words, *terms}, superwords)}
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = sorted(to_bytes.alphabet())
    for whole in (*LETTERS, *sorted(wholes)):
        pieces.append(to_bytes.pre_tokenize_str(whole)[0][0])
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    # no merges: what the regular expression cuts out is one token, or else so many bytes
    bpe = Tokenizer(models.BPE(vocabulary, merges=[], ignore_merges=True))
    longest_first = sorted(wholes, key=lambda whole: (-len(whole), whole))
    # Within a name, that is between two words, and not where one begins: behind a row's letters, or
    # with a capital behind a word of small letters. Shorter words of small letters stand within
    # names as well; beside names they are in superwords, which have their blanks.
    small_word = "|".join(rf"\P{{L}}\p{{Ll}}{{{n}}} " for n in range(4, 16))
    begins = rf"(?<={small_word}|\P{{L}}\p{{Lu}}{{2}} )\p{{Lu}}"
    own = "|".join([*map(_by_itself, terms), r"\p{Lu}\p{Lu}", begins])
    blank = rf"(?:(?<=\p{{L}}{{2}}) (?!{own}))"
    cut = "|".join([*map(_by_itself, longest_first), rf"{blank}?\p{{L}}{{1,2}}", "."])
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(cut), "isolated"), to_bytes]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token in (PAD, END, *(f"<|{role}|>" for role in ROLES))
        ]
    )
    bpe.add_tokens([AddedToken(token, special=False, normalized=False) for token in TAGS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=PAD, clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = BARE_TEMPLATE
    return tokenizer


def _by_itself(text: str) -> str:
    """A pattern for it where it neither begins nor ends within a word: it would cut a name
    differently here than elsewhere."""
    before = r"(?<!\p{L})" if text[0].isalpha() else ""
    after = r"(?!\p{L})" if text[-1].isalpha() else ""
    return before + re.escape(text) + after


def superword_chunks(
    texts: list[str], content: set[str], most: int, least_share: float = 0.004
) -> list[str]:
    """Fixed stretches of text, found by merging neighbouring pieces that occur together in at least
    `least_share` of the texts. `content`: words and terms that take no part."""
    in_pieces = sorted((each for each in content if not _PIECE.fullmatch(each)), key=len)
    apart = re.compile("|".join(map(re.escape, (*TAGS, *reversed(in_pieces)))))
    documents = Counter(tuple(_pieces(text, apart, content)) for text in texts)
    pairs: Counter[tuple[str, str]] = Counter()
    for pieces, often in documents.items():
        _count_pairs(pairs, pieces, often)
    for _ in range(most * 3):
        (a, b), count = max(pairs.items(), key=itemgetter(1), default=(("", ""), 0))
        if not count or count < least_share * len(texts):
            break
        for pieces in [each for each in documents if a in each and b in each]:
            often = documents.pop(pieces)
            merged = _merged(pieces, a, b)
            documents[merged] += often
            _count_pairs(pairs, pieces, -often)
            _count_pairs(pairs, merged, often)
    counts: Counter[str] = Counter()
    for pieces, often in documents.items():
        for piece in pieces:
            if piece is not None and len(_PIECE.findall(piece)) > 1:
                counts[piece] += often
    return [piece for piece, count in counts.most_common(most) if count >= least_share * len(texts)]


def _pieces(text: str, apart: re.Pattern[str], content: set[str]) -> list[str | None]:
    """The text cut into words, digits and signs; None stands for what must not be merged."""
    pieces: list[str | None] = []
    for number, part in enumerate(apart.split(text)):
        pieces += [None] * (number > 0) + [
            None if piece.isdigit() or piece in content else piece for piece in _PIECE.findall(part)
        ]
    return pieces


def _count_pairs(
    pairs: Counter[tuple[str, str]], pieces: tuple[str | None, ...], often: int
) -> None:
    for a, b in zip(pieces, pieces[1:], strict=False):
        if a is not None and b is not None:
            pairs[a, b] += often


def _merged(pieces: tuple[str | None, ...], a: str, b: str) -> tuple[str | None, ...]:
    out: list[str | None] = []
    i = 0
    while i < len(pieces):
        if pieces[i] == a and i + 1 < len(pieces) and pieces[i + 1] == b:
            out.append(a + b)
            i += 2
        else:
            out.append(pieces[i])
            i += 1
    return tuple(out)
