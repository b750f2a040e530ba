"""The viewer of a report: every episode of every evaluation, to be filtered, read turn by turn and
compared.

The page holds columns about all episodes, and packed transcripts of as many as fit: lines of JSON,
several episodes to a piece, each piece gzipped and in base64, which the page unpacks when one of
its episodes is opened. `page/viewer.js` draws them. Text of a transcript reaches the page as JSON
and becomes text nodes there: nothing that a model or a tool wrote is ever read as HTML.

What does not fit is left out by rule: requests in an order shuffled with SEED, each with its
episodes of all evaluations, so that those stay comparable. Each transcripts file may be larger than
memory: an episode says where its line is.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tripwright.agent.chat import TOKENIZER, TokenWords
from tripwright.domains import domains, fact_title
from tripwright.errors import UserError
from tripwright.evals.outcome import mark_words, request_facts
from tripwright.evals.report.folder import BASELINES, ReportedRun, Work
from tripwright.evals.report.markup import number, plain, printable
from tripwright.evals.report.page import Episodes, Example, Section, Text, sentence
from tripwright.runs import TRANSCRIPTS, object_in, record_at
from tripwright.transcript import Segment, Transcript
from tripwright.verdict import Verdict

Json = dict[str, Any]
UNSCORED = -1  # where a verdict is 1 or 0
NO_ANSWER = "nothing delivered"  # stands among the failed constraints
SEED = 0
DEFAULT_BYTES = 25_000_000  # of packed transcripts in a page, where nothing else is asked for
PIECE_EPISODES = 16  # unpacked together: some milliseconds
UNLIKELIEST = -99.99  # a log-probability that is no number is shown as this one
_SCRIPTS_FOLDER = "difficulty"  # with the evaluations of scripts


def budget_of(option: str | None) -> tuple[int | None, float]:
    """What `--transcripts` (a number, "all", or nothing) allows in the page: so many episodes, None
    for all, and so many bytes of packed text."""
    if option is None:
        return None, DEFAULT_BYTES
    if option == "all" or option.isdecimal():
        return None if option == "all" else int(option), math.inf
    raise UserError(f"--transcripts is '{option}'. Accepted: a number of episodes, or 'all'.")


class Source(NamedTuple):
    """One transcripts.jsonl. `key` names it in addresses; where the page is about several runs, it
    and the `name` begin with the run's."""

    key: str
    name: str
    path: Path
    run: ReportedRun


class Viewer:
    """`entries`: (number of the source, episode). `places`: for each, the number of its piece and
    its line in it, or None where its text is left out. `queries`: each request, shared by all
    evaluations, with the first episode on it. `prompts`: the system prompts, which most episodes
    share, with their numbers."""

    def __init__(
        self, runs: dict[str, ReportedRun], most: int | None = None, room: float = DEFAULT_BYTES
    ):
        self.sources = list(sources_of(runs))
        works = (source.run.works(source.path) for source in self.sources)
        self.entries = [(n, work) for n, found in enumerate(works) for work in found]
        self.queries: dict[str, Work] = {}
        for _, work in self.entries:
            self.queries.setdefault(work.query, work)
        self.places: list[tuple[int, int] | None] = [None] * len(self.entries)
        self.pieces: list[str] = []  # base64
        self.prompts: dict[str, int] = {}
        paths = " ".join(str(run.path) for run in runs.values())
        several = " --out OUT.html" if len(runs) > 1 else ""
        self.command = f"tripwright report {paths}{several} --transcripts all"
        self._pack(most, room)

    @property
    def section(self) -> Section:
        counts = len(self.entries), len(self.sources), len(self.queries)
        words = sentence("episodes", *counts, self.places.count(None), SEED, self.command)
        return Section("episodes", "Episodes", [Text(words), Episodes()])

    @property
    def examples(self) -> list[Example]:
        """Of the main evaluation, the first episode that passes and the first that fails: with an
        answer, if one does."""
        examples = []
        for passed in (True, False):
            here = [
                (place, work)
                for place, (source, work) in enumerate(self.entries)
                if source == 0 and self.places[place] and work.scored and work.final == passed
            ]
            if here:
                place, work = min(here, key=lambda each: not each[1].delivered)
                examples.append(Example(place, passed, work.text))
        return examples

    @property
    def columns(self) -> str:
        """JSON: one list per column, in the order of the entries, which is a fraction of the size
        of one object per episode."""
        works = [work for _, work in self.entries]
        queries = {query: place for place, query in enumerate(self.queries)}
        places = [place or (-1, 0) for place in self.places]
        columns = {
            "sources": [{"key": each.key, "name": each.name} for each in self.sources],
            "queries": [[work.text, _marks(work)] for work in self.queries.values()],
            "prompts": list(self.prompts),
            "command": self.command,
            "id": [work.id for work in works],
            "source": [source for source, _ in self.entries],
            "query": [queries[work.query] for work in works],
            "verdict": [int(work.final) if work.scored else UNSCORED for work in works],
            "turns": [work.turns for work in works],
            "calls": [work.calls for work in works],
            "errors": [work.count("error", "fault") for work in works],
            "refused": [work.refused for work in works],
            "tokens": [work.completion_tokens or 0 for work in works],
            "cost": [work.cost for work in works],
            "stop": [plain(work.stop_reason) for work in works],
            "failed": [
                [NO_ANSWER] * (work.scored and not work.delivered)
                + list(map(fact_title, work.failed))
                for work in works
            ],
            "piece": [piece for piece, _ in places],
            "line": [line for _, line in places],
        }
        return json.dumps(columns, separators=(",", ":")).replace("<", "\\u003c")

    def shuffled(self) -> list[int]:
        """Places of entries: requests shuffled with SEED, each with its episodes of all
        evaluations."""
        by_query: dict[str, list[int]] = {query: [] for query in self.queries}
        for place, (_, work) in enumerate(self.entries):
            by_query[work.query].append(place)
        queries = list(by_query)
        Random(SEED).shuffle(queries)
        return [place for query in queries for place in by_query[query]]

    def _pack(self, most: int | None, room: float) -> None:
        """An episode that cannot be drawn is left out."""
        words = {source.run.path: _token_words(source.run) for source in self.sources}
        order = self.shuffled()[:most]
        for start in range(0, len(order), PIECE_EPISODES):
            lines: dict[int, str] = {}
            for place in order[start : start + PIECE_EPISODES]:
                number, work = self.entries[place]
                source = self.sources[number]
                try:
                    record = record_at(source.path, work.place)
                    episode = drawn(record, words[source.run.path], self.prompts)
                    lines[place] = json.dumps(episode, ensure_ascii=False, allow_nan=False)
                except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
                    continue
            text = "\n".join(lines.values()).encode("utf-8", "replace")
            piece = base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
            room -= len(piece)
            if room < 0:
                break
            for at, place in enumerate(lines):
                self.places[place] = (len(self.pieces), at)
            self.pieces.append(piece)


def sources_of(runs: dict[str, ReportedRun]) -> Iterator[Source]:
    """The main evaluation first, then the others, then the scripts that measured difficulty."""
    for run_name, run in runs.items():
        main_first = sorted(run.evaluations.values(), key=lambda each: each is not run.main)
        found = {each.name: (each.title, path) for each in main_first if (path := each.transcripts)}
        for path in sorted(run.path.glob(f"eval/*/*/{TRANSCRIPTS}")):
            outer, inner = path.parent.parent.name, path.parent.name
            is_script = outer == _SCRIPTS_FOLDER and inner in BASELINES
            words = f"{BASELINES[inner][0]} (script)" if is_script else f"{outer}, {inner}"
            found[f"{outer}/{inner}"] = (words, path)
        for key, (words, path) in found.items():
            if len(runs) > 1:
                key, words = f"{run_name}/{key}", f"{run_name} · {words}"
            yield Source(key, words, path, run)


def _marks(work: Work) -> dict[str, str]:
    """What its request is counted under, in words: {"level": "easy", "days": "3 days"}."""
    marks = work.marks.items()
    return {name: mark_words({name: value})[0] for name, value in marks if value is not None}


# ---- one episode


def drawn(record: Json, words: TokenWords | None, prompts: dict[str, int]) -> Json:
    """One line of transcripts.jsonl as the page draws it: what it holds, without token ids, and an
    answer's markdown as a tree. Of what only some domains have (a plan, costs, a verifier's
    findings) the page shows what is there. Raises KeyError, TypeError or ValueError for what is no
    episode.
    """
    transcript, request = Transcript.from_json(record["transcript"]), record["request"]
    usage = transcript.usage.items()
    episode: Json = {
        "id": str(record.get("id", "")),
        "world": record.get("world"),
        "turns": list(_turns(transcript, words, prompts)),
        "stop": transcript.stop_reason,
        "fault": transcript.fault,
        "usage": {name: value for name, value in usage if number(value) is not None},
        "asked": request_facts(record),
        "budget": number(request.get("budget", request.get("total_budget"))),
        "verdict": record["verdict"] and _judged(Verdict.from_record(record["verdict"])),
    }
    if "plan" in record:
        return episode | {"plan": record["plan"] or None}
    domain = domains().get(str(record.get("domain")))
    page = domain.report.page(record) if domain else None
    found = {"answer": blocks(page or transcript.answer or ""), "verifier": record.get("verifier")}
    return episode | found | {"noted": record.get("outside")}


def _judged(verdict: Verdict) -> Json:
    """Facts with their titles, in the order of their groups."""
    groups = [
        {
            "name": group.name,
            "facts": group.facts
            and [
                {"title": fact_title(name), **fact.record()} for name, fact in group.facts.items()
            ],
        }
        for group in verdict.groups[1:]
    ]
    return verdict.record() | {"problem": verdict.schema_problem, "groups": groups}


def _turns(
    transcript: Transcript, words: TokenWords | None, prompts: dict[str, int]
) -> Iterator[Json]:
    """Message by message. A tool's answer stands with its call; the message that brought it to the
    agent has a text where that was another one, as one that was cut."""
    calls, answer = 0, None
    for segment in transcript.segments:
        turn: Json = {
            "role": segment.role,
            "text": segment.text,
            "tokens": _tokens(segment, words),
        }
        if segment.role == "system":
            turn["text"] = prompts.setdefault(segment.text, len(prompts))
        if segment.call is not None:
            calls, answer = calls + 1, segment.call.result
            turn["call"] = {"number": calls, **segment.call.to_json()}
        if segment.role == "tool" and segment.text == answer:
            turn["text"] = ""
        yield turn | {"problem": segment.problem, "from": segment.context_from}


def _tokens(segment: Segment, words: TokenWords | None) -> Json | None:
    """What the agent wrote has, token by token, its log-probability, its mask and, with a
    tokenizer, its letters."""
    ids, mask = segment.token_ids, segment.loss_mask
    if not ids:
        return None
    tokens: Json = {"count": len(ids), "trained": sum(mask)}
    if segment.role == "assistant":
        tokens |= {"mask": mask, "words": words and words.of(ids, segment.text)}
        if len(segment.logprobs) == len(ids):
            tokens["logprobs"] = [
                max(round(p, 2), UNLIKELIEST) if math.isfinite(p) else UNLIKELIEST
                for p in segment.logprobs
            ]
    return tokens


# ---- token ids as words


def _token_words(run: ReportedRun) -> TokenWords | None:
    """Of the run's newest model, whose stages share their tokenizer, or of the local model that its
    card names."""
    made = sorted(run.path.glob(f"model/*/{TOKENIZER}"), key=lambda path: path.stat().st_mtime)
    model = object_in(run.card, "policy").get("model")
    named = [Path(model) / TOKENIZER] if isinstance(model, str) else []
    return TokenWords.read([*named, *made][-1]) if named or made else None


# ---- an answer's markdown


DEEPEST = 40  # marks in each other; the parser would leave out what is deeper
_UNREAD = (
    *("html_block", "html_inline", "entity", "reference", "autolink", "link", "image"),
    *("code", "lheading"),  # models indent, and draw lines under paragraphs, without meaning these
)
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
_PARSER.enable("table").disable(list(_UNREAD))


def blocks(text: str) -> list[str | Json]:
    """An answer's markdown as a tree of texts and elements {"tag", "children"}, so that the page
    can build it from text nodes alone: no HTML comes out of here, and none that a model wrote goes
    in. Tags, comments and addresses stand there as the text they are.

    markdown-it reads it: CommonMark and tables, without what would hide letters (HTML, entities,
    links, indented code).
    """
    text = printable(text)
    tokens = _PARSER.parse(text)
    if any(token.level >= DEEPEST for token in tokens):
        return [{"tag": "pre", "children": [text]}]
    return _nodes(SyntaxTreeNode(tokens))


def _nodes(parent: SyntaxTreeNode) -> list[str | Json]:
    return [made for child in parent.children for made in _made(child)]


def _made(node: SyntaxTreeNode) -> list[str | Json]:
    match node.type:
        case "inline":
            return _nodes(node)
        case "text":
            return [node.content] if node.content else []
        case "softbreak" | "hardbreak":
            return ["\n"]
        case "code_inline" | "fence":
            tag = "code" if node.type == "code_inline" else "pre"
            return [{"tag": tag, "children": [node.content.removesuffix("\n")]}]
        case "heading":  # below the page's own
            tag = f"h{min(6, max(4, int(node.tag[1:]) + 1))}"
            return [{"tag": tag, "children": _nodes(node)}]
        case "ordered_list":
            start = node.attrs.get("start", 1)
            return [{"tag": "ol", "start": start, "children": _nodes(node)}]
        case _:
            return [{"tag": node.tag, "children": _nodes(node)}]
