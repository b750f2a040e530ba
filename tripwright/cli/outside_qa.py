"""`tripwright outside index` and `tripwright outside qa`: question answering with a Search tool
over a local corpus (row S10)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.agent.counting import EstimatedTokens
from tripwright.cli.options import Json, ModelFlags, RunOut, SamplingFlags
from tripwright.cli.outside import MODELS, SamplesOption, check_one_of, player, tell
from tripwright.errors import UserError
from tripwright.evals.outside.qa.bm25 import Bm25Retriever
from tripwright.evals.outside.qa.continued import ContinuingEndpoint
from tripwright.evals.outside.qa.dense import (
    DenseRetriever,
    SentenceEncoder,
    add_vectors,
    take_vectors,
)
from tripwright.evals.outside.qa.dialects import SEARCH_DIALECTS, SearchDialect, search_dialect
from tripwright.evals.outside.qa.job import question_tasks
from tripwright.evals.outside.qa.passages import Retriever
from tripwright.evals.outside.qa.questions import SETS, read_questions, set_files
from tripwright.evals.outside.qa.reader import GoldReader
from tripwright.evals.outside.qa.score import MEASURES, score_questions
from tripwright.evals.outside.qa.served import ServedRetriever
from tripwright.evals.outside.qa.store import PassageStore, build_index
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import run_card
from tripwright.evals.scoreboard import verified_by
from tripwright.policies.decoding import decoding_of
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.settings import PolicyChoice

POLICIES = (GoldReader.name, *MODELS)
RULES = verified_by("exact match")


def index(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="JSONL file of passages, as wiki-18.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the index.")],
    dense: Annotated[
        str | None,
        typer.Option(
            help="Encode the passages with this encoder too: a folder, or a name.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="With --dense: take its vectors from this flat faiss index.", show_default=False
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the index's description as JSON.")
    ] = False,
) -> None:
    """Build the index that 'tripwright outside qa' searches. Built once; what is there already is
    not built again.

    BM25 is always built, by SQLite, and needs disk for about twice the corpus. Dense vectors need
    the extra 'dense'.

    Examples:
      tripwright outside index wiki-18.jsonl --out indexes/wiki-18
      tripwright outside index wiki-18.jsonl --out indexes/wiki-18 --dense intfloat/e5-base-v2
      tripwright outside index wiki-18.jsonl --out indexes/wiki-18 --dense models/e5-base-v2 \\
        --vectors e5_Flat.index
    """
    if vectors is not None and dense is None:
        raise UserError(
            "--vectors needs --dense MODEL: the encoder that made them also encodes the questions."
        )
    encoder = SentenceEncoder(dense) if dense is not None else None
    manifest = build_index(corpus, out)
    if encoder is not None:
        store = PassageStore(out)
        manifest = (
            take_vectors(store, encoder, vectors)
            if vectors is not None
            else add_vectors(store, encoder)
        )
    kinds = " and ".join(kind for kind in ("bm25", "dense") if manifest.get(kind))
    typer.echo(
        json.dumps(manifest)
        if as_json
        else f"{out}: {manifest['corpus']['passages']:,} passages, {kinds}"
    )


def qa(  # long: each option is a parameter with its help
    questions: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="FlashRAG's files: FOLDER/nq/test.jsonl and so on."),
    ],
    out: RunOut,
    model: ModelFlags,
    sampling: SamplingFlags,
    policy: Annotated[str, typer.Option(help=f"Who answers: {', '.join(POLICIES)}.")] = "endpoint",
    index: Annotated[
        Path | None,
        typer.Option(help="Folder made by 'tripwright outside index'.", show_default=False),
    ] = None,
    retriever: Annotated[
        str, typer.Option(help="bm25, dense, or the URL of a server with Search-R1's /retrieve.")
    ] = "bm25",
    sets: Annotated[
        str | None,
        typer.Option(help=f"Some of {','.join(SETS)}.", show_default="all that are there"),
    ] = None,
    dialect: Annotated[
        str, typer.Option(help=f"Prompt and notation: {', '.join(SEARCH_DIALECTS)}.")
    ] = "search",
    passages: Annotated[
        int | None,
        typer.Option(help="Passages that a search shows.", min=1, show_default="the dialect's"),
    ] = None,
    context_tokens: Annotated[
        int | None,
        typer.Option(
            help="Prompt, searches and answer together.", min=256, show_default="the dialect's"
        ),
    ] = None,
    empty_tools: Annotated[
        bool,
        typer.Option("--empty-tools", help="Every search finds nothing: what does the model know?"),
    ] = False,
    samples: SamplesOption = 1,
    count: Annotated[
        int | None,
        typer.Option(help="Only the first N questions of each set.", min=1, show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer the questions of the seven sets with a Search tool, and score them by exact match as
    Search-R1 does.

    OUT gets transcripts.jsonl, score.json and run_card.json, as of 'tripwright run'; the same
    command continues an interrupted run. 'gold-reader' is a yardstick for the retriever: it
    searches with the question once and knows the right answer when it sees it. Row S10 samples with
    --decoding star.

    Examples:
      tripwright outside qa FlashRAG --policy gold-reader --index indexes/wiki-18 --out runs/found
      tripwright outside qa FlashRAG --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --decoding star \\
        --sets bamboogle,musique --index indexes/wiki-18 --retriever dense --out runs/qwen3_qa
      tripwright outside qa FlashRAG \\
        --model PeterJinGo/SearchR1-nq_hotpotqa_train-qwen2.5-7b-em-ppo \\
        --base-url http://localhost:8000/v1 --dialect search_r1 \\
          --retriever http://localhost:8001/retrieve --out runs/search_r1
      tripwright outside qa FlashRAG --policy local --model runs/a/model --dialect star_search \\
        --index indexes/wiki-18 --out runs/a/qa
    """
    spoken = search_dialect(dialect)
    spoken = replace(
        spoken,
        top_k=passages or spoken.top_k,
        context_tokens=context_tokens or spoken.context_tokens,
    )
    files = set_files(
        questions,
        [name.strip() for name in sets.split(",") if name.strip()] if sets is not None else None,
    )
    asked = [
        question for name, path in files.items() for question in read_questions(path, name, count)
    ]
    chosen = choose(policy, model, sampling, spoken)
    found = open_retriever(retriever, index)
    tasks = question_tasks(asked, found, spoken, samples)
    card = card_of(chosen, spoken, questions, files, found, samples, empty_tools)
    score = run_episodes(
        chosen.policy,
        tasks,
        out,
        spoken,
        chosen.chat,
        RULES,
        empty_tools,
        card,
        scorer=score_questions,
    )
    tell(score, out, table(score), as_json)


def choose(
    policy: str, model: ModelFlags, sampling: SamplingFlags, dialect: SearchDialect
) -> PolicyChoice:
    """A Search-R1 model at an endpoint writes on one message; all others are the policies of
    `tripwright run`."""
    check_one_of("--policy", policy, POLICIES)
    if policy == GoldReader.name:
        if model.model or model.base_url:
            raise UserError(f"Policy '{policy}' uses no model: leave --model and --base-url out.")
        return PolicyChoice(GoldReader(), None, {"kind": policy}, {})
    chosen = player(policy, model, sampling, dialect)
    if policy == "endpoint" and dialect.turns.notation == "search":
        how = decoding_of(**vars(sampling))
        endpoint = ContinuingEndpoint(
            str(model.base_url),
            str(model.model),
            model.api_key_env,
            model.timeout_s,
            model.max_retries,
            temperature=how.temperature,
            top_p=how.top_p,
            max_tokens=dialect.max_turn_tokens,
            extra_body={} if how.top_k is None else {"top_k": how.top_k},
        )
        policy_of_text = EndpointPolicy(endpoint, model.concurrency, False, EstimatedTokens())
        return replace(chosen, policy=policy_of_text)
    return chosen


def open_retriever(name: str, index: Path | None) -> Retriever:
    if name.startswith(("http://", "https://")):
        if index is not None:
            raise UserError(
                f"'{name}' has an index of its own: leave --index out, or choose --retriever bm25"
                " or dense."
            )
        return ServedRetriever(name)
    if name not in ("bm25", "dense"):
        raise UserError(
            f"Unknown retriever '{name}'. Accepted: bm25, dense, or a URL like"
            " http://localhost:8000/retrieve."
        )
    if index is None:
        raise UserError(
            f"Retriever '{name}' needs --index DIR, as made by 'tripwright outside index'."
        )
    store = PassageStore(index)
    return Bm25Retriever(store) if name == "bm25" else DenseRetriever(store)


def card_of(
    chosen: PolicyChoice,
    dialect: SearchDialect,
    folder: Path,
    files: dict[str, Path],
    retriever: Retriever,
    samples: int,
    empty_tools: bool,
) -> dict[str, Any]:
    """The run card, its queries being those of every set's file, its world the retriever."""
    first = next(iter(files.values()))
    card = run_card(
        chosen.identity,
        chosen.decoding,
        dialect,
        RULES,
        first,
        retriever.identity,
        samples,
        empty_tools,
    )
    hashes = {
        f"{name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
    }
    together = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
    card["queries"] = {"path": str(folder), "sha256": together, "files": list(hashes)}
    card["dialect"]["question_prompt_sha256"] = hashlib.sha256(
        dialect.question_prompt.encode()
    ).hexdigest()
    return card


def table(score: Mapping[str, Any]) -> str:
    """Rates in percent with 95% intervals; F1 too, as the papers print it."""
    found = score["questions"]
    lines = [f"  {'':<16} {'n':>6}  " + "  ".join(f"{_words(m):<21}" for m in MEASURES)]
    for name, of_set in found["sets"].items():
        lines.append(
            f"  {name:<16} {of_set['exact_match']['n']:>6}  "
            + "  ".join(f"{_cell(of_set[m]):<21}" for m in MEASURES)
        )
    average = found["average"]
    label = f"mean of {average['sets']} sets"
    lines.append(f"  {label:<23}  " + "  ".join(f"{_cell(average[m]):<21}" for m in MEASURES))
    if average["sets"] < average["of"]:
        lines.append(
            f"  The papers' average is over all {average['of']} sets: not comparable with it."
        )
    return "\n".join(line.rstrip() for line in lines)


def _words(measure: str) -> str:
    return {"f1": "F1"}.get(measure, measure.replace("_", " "))


def _cell(found: Mapping[str, Any]) -> str:
    return (
        "-"
        if found["value"] is None
        else f"{found['value']:.1%} [{found['low']:.1%}, {found['high']:.1%}]"
    )
