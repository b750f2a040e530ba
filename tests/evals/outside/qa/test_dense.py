"""Dense retrieval: what is encoded, how, and in which order. faiss and the encoder are stand-ins of
a few lines, so that this runs without the extra; with it, the last test uses the real ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.evals.outside.qa.dense import (
    DenseRetriever,
    SentenceEncoder,
    add_vectors,
    take_vectors,
)
from tripwright.evals.outside.qa.search import SearchTools
from tripwright.evals.outside.qa.store import DENSE, PassageStore
from tripwright.tools.toolbox import ToolHostDown


class Rows(list[list[float]]):
    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self[0])


class Letters:
    """Counts letters: near enough to a meaning for a test."""

    name = "letters"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> Rows:
        self.encoded += texts
        counted = [
            [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]
            for text in texts
        ]
        return Rows(
            [[value / (sum(v * v for v in row) ** 0.5 or 1) for value in row] for row in counted]
        )


class FlatIP:
    def __init__(self, d: int):
        self.d, self.rows = d, list[list[float]]()

    @property
    def ntotal(self) -> int:
        return len(self.rows)

    def add(self, rows: Rows) -> None:
        self.rows += rows

    def search(self, queries: Rows, k: int) -> tuple[list[list[float]], list[list[int]]]:
        (query,) = queries
        scores = [sum(a * b for a, b in zip(query, row, strict=True)) for row in self.rows]
        best = sorted(range(len(scores)), key=lambda n: -scores[n])[:k]
        return [[scores[n] for n in best]], [best + [-1] * (k - len(best))]


def read_index(path: str) -> FlatIP:
    try:
        found = json.loads(Path(path).read_text())
    except ValueError:
        raise RuntimeError("Index type 0x not recognized\nsecond line") from None
    index = FlatIP(found["d"])
    index.rows = found["rows"]
    return index


@pytest.fixture
def faiss(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("faiss")
    module.__dict__.update(
        IndexFlatIP=FlatIP,
        read_index=read_index,
        write_index=lambda index, path: Path(path).write_text(
            json.dumps({"d": index.d, "rows": index.rows})
        ),
    )
    monkeypatch.setitem(sys.modules, "faiss", module)
    return module


def test_passages_and_questions_are_encoded_with_e5s_prefixes(
    faiss: ModuleType, store: PassageStore
) -> None:
    encoder = Letters()
    manifest = add_vectors(store, encoder)
    made_by = {"encoder": "letters", "fingerprint": None}
    assert manifest["dense"] == {
        **made_by,
        "dimensions": 26,
        "max_tokens": 256,
        "prefixes": ["query: ", "passage: "],
    }
    assert (
        encoder.encoded[0]
        == 'passage: "Rome"\nRome is the capital of Italy. It lies on the river Tiber.'
    )
    assert len(encoder.encoded) == 6
    retriever = DenseRetriever(PassageStore(store.folder), encoder)
    found = retriever.search(store.numbered([3])[0].contents, 2)
    assert encoder.encoded[-1].startswith('query: "Mont Blanc"')
    assert found[0].title == '"Mont Blanc"'
    assert len(retriever.search("Rome", 99)) == 6  # faiss fills up with -1, which is no passage
    assert retriever.identity["encoder"] == "letters"


@pytest.mark.parametrize("broken", ["encoder", "index"])
def test_an_encoder_or_index_that_breaks_is_our_fault(
    broken: str, faiss: ModuleType, store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    encoder = Letters()
    add_vectors(store, encoder)
    tools = SearchTools(DenseRetriever(PassageStore(store.folder), encoder))
    assert "Rome" in tools.call("search", {"query": "Rome"}).text
    monkeypatch.setattr(
        *{"encoder": (encoder, "encode", fails), "index": (FlatIP, "search", fails)}[broken]
    )
    with pytest.raises(ToolHostDown, match="cannot be searched: RuntimeError: CUDA out of memory"):
        tools.call("search", {"query": "Rome"})


def test_vectors_are_made_once(faiss: ModuleType, store: PassageStore) -> None:
    encoder = Letters()
    add_vectors(store, encoder)
    add_vectors(PassageStore(store.folder), encoder)
    assert len(encoder.encoded) == 6


def test_vectors_of_another_index_are_taken_where_they_can_fit(
    faiss: ModuleType, store: PassageStore, tmp_path: Path
) -> None:
    ready = FlatIP(26)
    ready.add(Letters().encode([f"passage: {text}" for text in store.contents()]))
    faiss.write_index(ready, str(tmp_path / "e5_Flat.index"))
    encoder = Letters()
    assert take_vectors(store, encoder, tmp_path / "e5_Flat.index")["dense"]["dimensions"] == 26
    assert len(encoder.encoded) == 1  # one text, for its width
    assert (store.folder / DENSE).is_file()
    ready.rows.pop()
    faiss.write_index(ready, str(tmp_path / "short.index"))
    with pytest.raises(UserError, match="holds 5 vectors of 26 numbers; expected 6 "):
        take_vectors(store, encoder, tmp_path / "short.index")
    (tmp_path / "bad.index").write_text("no index")
    with pytest.raises(UserError, match="is no faiss index: Index type 0x not recognized$"):
        take_vectors(store, encoder, tmp_path / "bad.index")
    with pytest.raises(UserError, match="No faiss index at"):
        take_vectors(store, encoder, tmp_path / "nowhere.index")


def test_without_vectors_or_library_one_line_says_what_to_do(
    corpus: Path,
    store: PassageStore,
    run_verb: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UserError, match="has no vectors: make them with 'tripwright outside index"):
        DenseRetriever(store, Letters())
    assert run_verb("outside", "index", corpus, "--out", store.folder, "--vectors", "x.index") == 2
    assert "--vectors needs --dense MODEL" in capsys.readouterr().err


def test_with_the_real_libraries(store: PassageStore, tmp_path: Path) -> None:
    """A BERT of a few hundred weights, random: it has no meaning, but a passage is nearest to
    itself."""
    pytest.importorskip("faiss")
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    words = sorted(
        {word for text in store.contents() for word in text.lower().replace(".", " ").split()}
    )
    (tmp_path / "bert").mkdir()
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "query",
        "passage",
        ":",
        ".",
        '"',
        *words,
    ]
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(vocabulary))
    size = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    transformers.BertModel(
        transformers.BertConfig(vocab_size=len(vocabulary), **size)
    ).save_pretrained(tmp_path / "bert")
    transformers.BertTokenizerFast(str(tmp_path / "bert" / "vocab.txt")).save_pretrained(
        tmp_path / "bert"
    )
    encoder = SentenceEncoder(str(tmp_path / "bert"))
    add_vectors(store, encoder)
    retriever = DenseRetriever(PassageStore(store.folder))
    rows: Any = encoder.encode(["query: Rome", "passage: " + "Rome " * 900])
    assert rows.shape == (2, 32)
    assert all(abs(float((row * row).sum()) - 1) < 1e-4 for row in rows)
    for number, contents in enumerate(store.contents()):
        assert retriever.search(contents, 1)[0].id == str(number)
