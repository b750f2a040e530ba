"""Dense retrieval as in row S10: E5 (or any encoder of sentence-transformers) and an exact
inner-product index of faiss.

As Search-R1 runs E5: `query: ` and `passage: ` before the texts, mean pooling, vectors of length 1,
texts cut at 256 tokens, a flat index. Both libraries come with the extra `dense`. Vectors of a
corpus may also be taken from a flat index that is there already (Search-R1 publishes one of
wiki-18): whoever uses it must name the encoder that made it, for the questions.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from tripwright.errors import UserError
from tripwright.evals.outside.qa.passages import Passage, RetrieverDown
from tripwright.evals.outside.qa.store import DENSE, MANIFEST, PassageStore
from tripwright.evals.run_card import model_fingerprint
from tripwright.files import write_atomically
from tripwright.progress import StatusLine

QUERY, PASSAGE = "query: ", "passage: "
MAX_TOKENS = 256
BATCH = 256  # texts encoded at once


class TextEncoder(Protocol):
    """Texts to rows of a float32 array, each of length 1."""

    @property
    def name(self) -> str: ...
    def encode(self, texts: Sequence[str]) -> Any: ...


class SentenceEncoder:
    """A folder, or a name that sentence-transformers can find; one without its configuration gets
    mean pooling. Threads may share it."""

    def __init__(self, model: str):
        library = import_module("sentence_transformers")
        try:
            self._model = library.SentenceTransformer(model)
        except (OSError, ValueError) as error:
            raise UserError(
                f"No encoder could be loaded from '{model}': {str(error).splitlines()[0]}"
            ) from None
        self._model.max_seq_length = MAX_TOKENS
        self._lock = threading.Lock()
        self.name = model

    def encode(self, texts: Sequence[str]) -> Any:
        with self._lock:
            return self._model.encode(
                list(texts),
                batch_size=BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )


def add_vectors(store: PassageStore, encoder: TextEncoder) -> dict[str, Any]:
    """Encodes every passage into the index's folder and returns the new manifest. All vectors are
    in memory once: 4 bytes × dimensions × passages. Vectors of the same encoder that are there
    already are left alone."""
    there = store.manifest.get("dense") or {}
    same = (there.get("encoder"), there.get("fingerprint")) == (
        encoder.name,
        model_fingerprint(encoder.name),
    )
    if same and (store.folder / DENSE).is_file():
        return store.manifest
    faiss = import_module("faiss")
    status, index, texts = StatusLine(), None, store.contents()
    while batch := [PASSAGE + contents for contents in islice(texts, BATCH)]:
        vectors = encoder.encode(batch)
        index = index or faiss.IndexFlatIP(int(vectors.shape[1]))
        index.add(vectors)
        status.show(
            f"{index.ntotal:,} of {len(store):,} passages encoded,"
            f" {index.ntotal / max(status.seconds, 1e-9):,.0f}/s"
        )
    status.end()
    if index is None:
        raise UserError(f"'{store.folder}' holds no passages to encode.")
    return _keep(store, encoder, index)


def take_vectors(store: PassageStore, encoder: TextEncoder, path: Path) -> dict[str, Any]:
    """Copies a faiss index of the same passages, in the same order, made by the same encoder. What
    can be checked of that is checked."""
    faiss = import_module("faiss")
    if not path.is_file():
        raise UserError(f"No faiss index at '{path}'.")
    try:
        index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise UserError(f"'{path}' is no faiss index: {str(error).splitlines()[0]}") from None
    width = int(encoder.encode([QUERY]).shape[1])
    if index.ntotal != len(store) or index.d != width:
        found = f"{index.ntotal:,} vectors of {index.d} numbers"
        raise UserError(
            f"'{path}' holds {found}; expected {len(store):,} (the passages) of {width} (what"
            f" '{encoder.name}' makes)."
        )
    return _keep(store, encoder, index)


def _keep(store: PassageStore, encoder: TextEncoder, index: Any) -> dict[str, Any]:
    partial = store.folder / f"{DENSE}.partial"
    import_module("faiss").write_index(index, str(partial))
    os.replace(partial, store.folder / DENSE)
    # None for a name that is no folder
    made_by = {"encoder": encoder.name, "fingerprint": model_fingerprint(encoder.name)}
    dense = {
        **made_by,
        "dimensions": int(index.d),
        "max_tokens": MAX_TOKENS,
        "prefixes": [QUERY, PASSAGE],
    }
    manifest = {**store.manifest, "dense": dense}
    write_atomically(store.folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return manifest


class DenseRetriever:
    """Raises UserError for an index without vectors. `encoder` is loaded by the name in the index
    unless it is given."""

    def __init__(self, store: PassageStore, encoder: TextEncoder | None = None):
        dense = store.manifest.get("dense")
        if not dense or not (store.folder / DENSE).is_file():
            add = (
                f"make them with 'tripwright outside index CORPUS.jsonl --out {store.folder}"
                " --dense MODEL'"
            )
            raise UserError(f"'{store.folder}' has no vectors: {add}, or choose --retriever bm25.")
        self._store, self._encoder = store, encoder or SentenceEncoder(dense["encoder"])
        self._index = import_module("faiss").read_index(str(store.folder / DENSE))

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "name": "dense",
            "corpus_sha256": self._store.manifest["corpus"]["sha256"],
            **self._store.manifest["dense"],
        }

    def search(self, query: str, top_k: int) -> Sequence[Passage]:
        try:
            _, numbers = self._index.search(self._encoder.encode([QUERY + query]), top_k)
            return self._store.numbered(_found(numbers[0]))
        except Exception as error:
            # torch, faiss and SQLite have no error in common, and none of theirs is the model's
            # fault
            raise RetrieverDown(
                f"the vectors of '{self._store.folder}' cannot be searched: {type(error).__name__}:"
                f" {error}"
            ) from None


def _found(numbers: Any) -> Iterator[int]:
    """faiss fills up with -1 where there are fewer vectors than were asked for."""
    return (int(number) for number in numbers if number >= 0)
