"""A small tokenizer made on the spot, shaped so that a tiny model can copy names and read short
episodes.

Three kinds of token:
- control tokens of the chat format and the tags of calls and answers;
- *superwords*: whole stretches of fixed text (`","accommodation":"`), merged across words and
  punctuation. They shorten an episode severalfold. Words that carry content (names, cuisines,
  digits) never take part, so that a name is cut the same way in the request, in a tool answer and
  in the plan: otherwise copying it would be a translation;
- byte-level BPE of single words, digits one by one, for everything else, so that any text can be
  encoded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

ROLES = ("system", "user", "assistant", "tool")
END, PAD = "<|im_end|>", "<|pad|>"
TAGS = ("<tool_call>", "</tool_call>", "<answer>", "</answer>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endfor %}{% if"
    " add_generation_prompt %}<|assistant|>{% endif %}"
)
_PIECE = re.compile(r"[A-Za-z]+|\d|[^A-Za-z\d]")


def train_tokenizer(
    texts: list[str], content_words: Iterable[str], superwords: int = 320, subwords: int = 1000
) -> PreTrainedTokenizerFast:
    """`texts`: assistant and tool messages, system prompts and requests. `content_words`: words
    that must stay themselves."""
    chunks = superword_chunks(texts, set(content_words), superwords)
    split = re.compile(
        "|".join(re.escape(chunk) for chunk in sorted([*TAGS, *chunks], key=len, reverse=True))
    )
    words = (rest for text in texts for rest in split.split(text) if rest)
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d| ?\p{L}+|."), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=subwords,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=3,
    )
    bpe.train_from_iterator(words, trainer)
    bpe.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token in (PAD, END, *(f"<|{role}|>" for role in ROLES))
        ]
    )
    bpe.add_tokens(
        [AddedToken(token, special=False, normalized=False) for token in (*TAGS, *chunks)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=PAD, clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def superword_chunks(
    texts: list[str], content_words: set[str], most: int, least_share: float = 0.02
) -> list[str]:
    """Fixed stretches of text, found by merging neighbouring pieces that occur together in at least
    `least_share` of the texts."""
    documents = [_pieces(text, content_words) for text in texts]
    for _ in range(most * 3):
        pairs: Counter[tuple[str, str]] = Counter()
        for pieces in documents:
            for a, b in zip(pieces, pieces[1:], strict=False):
                if a is not None and b is not None:
                    pairs[a, b] += 1
        if not pairs:
            break
        (a, b), count = pairs.most_common(1)[0]
        if count < least_share * len(texts):
            break
        documents = [_merged(pieces, a, b) for pieces in documents]
    counts = Counter(
        piece
        for pieces in documents
        for piece in pieces
        if piece is not None and len(_PIECE.findall(piece)) > 1
    )
    for piece in [piece for piece in counts if not piece.isascii()]:
        del counts[piece]  # the byte-level decoder reads "é" in an added token as the byte 0xE9
    for piece in [piece for piece in counts if re.search(r"(^|[^A-Za-z])[A-Za-z]{1,2}$", piece)]:
        # it would match the beginning of longer words, and cut a name differently here than
        # elsewhere
        del counts[piece]
    return [piece for piece, count in counts.most_common(most) if count >= least_share * len(texts)]


def _pieces(text: str, content_words: set[str]) -> list[str | None]:
    """The text cut into words, digits and signs; None stands for what must not be merged."""
    pieces: list[str | None] = []
    for part in re.split("(" + "|".join(map(re.escape, TAGS)) + ")", text):
        if part in TAGS:
            pieces.append(None)
        else:
            pieces += [
                None if piece.isdigit() or piece in content_words else piece
                for piece in _PIECE.findall(part)
            ]
    return pieces


def _merged(pieces: list[str | None], a: str, b: str) -> list[str | None]:
    out: list[str | None] = []
    i = 0
    while i < len(pieces):
        if pieces[i] == a and i + 1 < len(pieces) and pieces[i + 1] == b:
            out.append(a + b)
            i += 2
        else:
            out.append(pieces[i])
            i += 1
    return out
