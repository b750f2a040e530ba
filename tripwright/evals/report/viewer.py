"""The viewer of a report: every episode of every evaluation, to be filtered, read turn by turn and
compared.

The page holds columns about all episodes, and packed transcripts of as many as fit: lines of JSON,
several episodes to a piece, each piece gzipped and in base64, which the page unpacks when one of
its episodes is opened. `page/viewer.js` draws them. Text of a transcript reaches the page as JSON
and becomes text nodes there: nothing that a model or a tool wrote is ever read as HTML.

What does not fit is left out by rule: requests in an order shuffled with SEED, each with its
episodes of all evaluations, so that those stay comparable. Each transcripts file may be larger than
memory: an entry says where its line is.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup

from tripwright.domains import domains, fact_title
from tripwright.errors import UserError
from tripwright.evals.outcome import Outcome, mark_words, request_facts
from tripwright.evals.report.folder import BASELINES, ReportedRun, evaluation_words
from tripwright.evals.report.markup import number, plain, plural
from tripwright.evals.report.page import Episodes, Example, Section, Text, page_file
from tripwright.runs import TRANSCRIPTS, LinePlace, Run, episode_lines
from tripwright.transcript import Segment, ToolCall, Transcript
from tripwright.verdict import Fact, State, Verdict

Json = dict[str, Any]
PASSED, FAILED, UNSCORED = 1, 0, -1
NO_ANSWER = "nothing delivered"  # stands among the failed constraints
MOST_REQUEST = 1_000  # characters shown in the list
MOST_TEXT = 100_000  # characters of one text; the rest stays in the file, and the page says so
MOST_FACT = 300  # characters of one thing that a grader noted
SEED = 0
DEFAULT_BYTES = 25_000_000  # of packed transcripts in a page, where nothing else is asked for
PIECE_CHARACTERS = 256_000  # of JSON, unpacked: some milliseconds to unpack
TOKENIZER_FILE = "tokenizer.json"
_SCRIPTS_FOLDER = "difficulty"  # with the evaluations of scripts


@dataclass(frozen=True)
class Budget:
    """How much goes into the page: at most so many episodes, at most so many bytes of packed text.
    None: no limit."""

    episodes: int | None = None
    bytes: int | None = DEFAULT_BYTES

    @classmethod
    def of(cls, option: str | None) -> Budget:
        """What `--transcripts` says: a number, "all", or nothing."""
        if option is None:
            return cls()
        if option == "all":
            return cls(None, None)
        if option.isdecimal():
            return cls(int(option), None)
        raise UserError(f"--transcripts is '{option}'. Accepted: a number of episodes, or 'all'.")


@dataclass(frozen=True)
class Viewer:
    """`columns` is JSON, `pieces` are base64; both stand at the end of the page."""

    section: Section
    columns: str
    pieces: Sequence[str]
    examples: Sequence[Example]

    @property
    def script(self) -> str:
        return "".join(map(page_file, ("dom.js", "viewer.js")))


def make_viewer(runs: dict[str, ReportedRun], budget: Budget) -> Viewer | None:
    """None where the runs hold no episode. What could not be read is told in `missing`."""
    index = index_of(sources_of(runs))
    folders = {run.path: run for run in runs.values()}
    for source in index.sources:
        if lines := index.unreadable.get(source.key):
            name = source.path.relative_to(source.folder)
            words = f"{plural(lines, 'unreadable line')} of {name} left out"
            folders[source.folder].missing.append(words)
    if not index.entries:
        return None
    packed = pack(index, budget)
    several = " --out OUT.html" if len(runs) > 1 else ""
    paths = " ".join(str(run.path) for run in runs.values())
    command = f"tripwright report {paths}{several} --transcripts all"
    columns = json.dumps(_columns(index, packed, command), separators=(",", ":"))
    return Viewer(
        Section("episodes", "Episodes", [Text(_lede(index, packed, command)), Episodes()]),
        columns.replace("<", "\\u003c"),
        packed.pieces,
        list(_examples(index, packed)),
    )


def _lede(index: Index, packed: PackedEpisodes, command: str) -> str:
    words = (
        f"{plural(len(index.entries), 'episode')} of {plural(len(index.sources), 'evaluation')} on"
        f" {plural(len(index.queries), 'request')}."
    )
    included = sum(place is not None for place in packed.places)
    if left := len(index.entries) - included:
        words += (
            f" {included:,} of them can be read here; the other {left:,} are only listed, so"
            f" that the page stays small: whole requests, in an order shuffled with seed {SEED}."
        )
        return Markup("{} <code>{}</code> includes all.").format(words, command)
    return words


def _examples(index: Index, packed: PackedEpisodes) -> Iterator[Example]:
    """Of the main evaluation, the first episode that passes and the first that fails: with an
    answer, if one does."""
    for verdict in (PASSED, FAILED):
        here = [
            (place, entry)
            for place, entry in enumerate(index.entries)
            if entry.source == 0 and packed.places[place] and entry.verdict == verdict
        ]
        if here:
            place, entry = min(here, key=lambda each: NO_ANSWER in each[1].failed)
            yield Example(place, verdict == PASSED, index.queries[entry.query].text)


def _columns(index: Index, packed: PackedEpisodes, command: str) -> Json:
    """One list per column, in the order of the index: a fraction of the size of one object per
    episode."""
    entries = index.entries
    failed = sorted(
        {name for entry in entries for name in entry.failed},
        key=lambda name: (name != NO_ANSWER, fact_title(name)),
    )
    stops = sorted({entry.stop for entry in entries})
    places = [place or (-1, 0) for place in packed.places]
    names = ("id", "source", "query", "verdict", "turns", "calls", "errors", "refused", "tokens")
    return {
        "sources": [
            {"key": each.key, "run": each.run, "name": each.name} for each in index.sources
        ],
        "queries": index.queries,
        "marks": list(dict.fromkeys(field for query in index.queries for field in query.marks)),
        "failures": [fact_title(name) for name in failed],
        "stops": [plain(name) for name in stops],
        "prompts": list(packed.prompts),
        "command": command,
        **{name: [getattr(entry, name) for entry in entries] for name in (*names, "cost")},
        "stop": [stops.index(entry.stop) for entry in entries],
        "failed": [[failed.index(name) for name in entry.failed] for entry in entries],
        "piece": [piece for piece, _ in places],
        "line": [line for _, line in places],
    }


# ---- every episode in a line of columns: what the list shows and what it can be filtered by


@dataclass(frozen=True)
class Source:
    """One transcripts.jsonl. `key` names it in addresses, `run` is empty where the page is about
    one run."""

    key: str
    run: str
    name: str
    path: Path
    folder: Path  # of the run


class Entry(NamedTuple):
    """One episode. `failed` holds names; `cost` is the plan's in US dollars; `tokens` are those
    trained on, 0 where there are no ids."""

    source: int
    place: LinePlace  # of its line
    id: str
    query: int
    verdict: int
    stop: str
    failed: tuple[str, ...]
    turns: int
    calls: int
    errors: int
    refused: int
    tokens: int
    cost: float | None


class RequestEntry(NamedTuple):
    """A request in words, and what it is counted under: {"level": "easy", "days": "3 days"}."""

    text: str
    marks: dict[str, str]


@dataclass
class Index:
    sources: list[Source]
    entries: list[Entry] = field(default_factory=list)
    queries: list[RequestEntry] = field(default_factory=list)  # shared by all evaluations
    unreadable: dict[str, int] = field(default_factory=dict)  # source key → lines


def sources_of(runs: dict[str, ReportedRun]) -> list[Source]:
    """The main evaluation first, then the others, then the scripts that measured difficulty. With
    one run, its name is not said."""
    sources = []
    for run_name, run in runs.items():
        run_title = run_name if len(runs) > 1 else ""
        main_first = sorted(run.transcripts, key=lambda name: name != run.main_evaluation)
        found = {name: (evaluation_words(name)[0], run.transcripts[name]) for name in main_first}
        for path in sorted(run.path.glob(f"eval/*/*/{TRANSCRIPTS}")):
            outer, inner = path.parent.parent.name, path.parent.name
            is_script = outer == _SCRIPTS_FOLDER and inner in BASELINES
            words = f"{BASELINES[inner][0]} (script)" if is_script else f"{outer}, {inner}"
            found[f"{outer}/{inner}"] = (words, path)
        sources += [
            Source(f"{run_title}/{key}".lstrip("/"), run_title, words, path, run.path)
            for key, (words, path) in found.items()
        ]
    return sources


def index_of(sources: list[Source]) -> Index:
    index = Index(sources)
    places: dict[Any, int] = {}
    for number_, source in enumerate(sources):
        for line in episode_lines(source.path):
            try:
                index.entries.append(_entry(line.record(), number_, line.place, index, places))
            except (ValueError, KeyError, TypeError, AttributeError):
                index.unreadable[source.key] = index.unreadable.get(source.key, 0) + 1
    return index


def _entry(
    record: Json, source: int, place: LinePlace, index: Index, places: dict[Any, int]
) -> Entry:
    segments, outcome = record["transcript"]["segments"], Outcome.of(record)
    verdict = Verdict.from_record(record["verdict"]) if outcome.scored else None
    query, question = _query(record, outcome), record["request"].get("question")
    key = (record.get("world"), question or (query.text, *query.marks.items()))
    if key not in places:
        places[key] = len(index.queries)
        index.queries.append(query)
    calls = [segment["call"] for segment in segments if segment.get("call")]
    return Entry(
        source=source,
        place=place,
        id=outcome.id,
        query=places[key],
        verdict=PASSED if outcome.final else FAILED if outcome.scored else UNSCORED,
        stop=str(record["transcript"].get("stop_reason") or "none"),
        failed=tuple(_failed(verdict)) if verdict else (),
        turns=outcome.turns,
        calls=len(calls),
        errors=sum(bool(call.get("error")) for call in calls),
        refused=sum(bool(segment.get("problem")) for segment in segments),
        tokens=sum(sum(segment.get("loss_mask") or ()) for segment in segments),
        cost=number(verdict.details.get("total_cost")) if verdict else None,
    )


def _query(record: Json, outcome: Outcome) -> RequestEntry:
    """Without words of its own it is what the user said first. Other benchmarks name their
    question, where many prompts begin alike."""
    segments = record["transcript"]["segments"]
    said = (str(segment["text"]) for segment in segments if segment["role"] == "user")
    text = outcome.text or next(said, "")
    if question := record["request"].get("question"):
        text = f"{question}: {text}"
    marks = {
        field: mark_words({field: value})[0]
        for field, value in outcome.marks.items()
        if value is not None
    }
    return RequestEntry(text[:MOST_REQUEST], marks)


def _failed(verdict: Verdict) -> Iterator[str]:
    if not verdict.delivered:
        yield NO_ANSWER
    for group in verdict.groups[1:]:
        facts = group.facts or {}
        yield from (name for name, fact in facts.items() if fact.state is State.FAILED)


# ---- whole transcripts, packed


@dataclass
class PackedEpisodes:
    """`places`: for each entry of the index, the number of its piece and its line in it, or None
    where its text is left out."""

    places: list[tuple[int, int] | None]
    pieces: list[str] = field(default_factory=list)
    prompts: dict[str, int] = field(default_factory=dict)


def pack(index: Index, budget: Budget) -> PackedEpisodes:
    packed = PackedEpisodes([None] * len(index.entries))
    room = budget.bytes
    for group in _pieces(index, budget, packed.prompts):
        text = "\n".join(line for _, line in group)
        piece = base64.b64encode(
            gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)
        ).decode()
        if room is not None:
            room -= len(piece)
            if room < 0:
                break
        for at, (place, _) in enumerate(group):
            packed.places[place] = (len(packed.pieces), at)
        packed.pieces.append(piece)
    return packed


def _pieces(
    index: Index, budget: Budget, prompts: dict[str, int]
) -> Iterator[list[tuple[int, str]]]:
    """[(place in the index, line of JSON), …] of each piece; an episode that cannot be drawn is
    left out."""
    vocabularies = {source.folder: _vocabulary(source.folder) for source in index.sources}
    ranking = order(index)
    lines = []
    for n, each in enumerate(index.sources):
        places = [index.entries[i].place for i in ranking if index.entries[i].source == n]
        lines.append(episode_lines(each.path, places))
    group: list[tuple[int, str]] = []
    size = taken = 0
    for place in ranking:
        if budget.episodes is not None and taken >= budget.episodes:
            break
        source = index.entries[place].source
        line = next(lines[source])
        try:
            words = vocabularies[index.sources[source].folder]
            episode = drawn(line.record(), words, prompts)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
        group.append((place, json.dumps(episode, ensure_ascii=False, separators=(",", ":"))))
        size, taken = size + len(group[-1][1]), taken + 1
        if size >= PIECE_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def order(index: Index) -> list[int]:
    """Requests shuffled with SEED, each with its episodes of all evaluations."""
    by_query: dict[int, list[int]] = defaultdict(list)
    for place, entry in enumerate(index.entries):
        by_query[entry.query].append(place)
    queries = list(by_query)
    Random(SEED).shuffle(queries)
    return [place for query in queries for place in by_query[query]]


def drawn(record: Json, words: TokenWords | None, prompts: dict[str, int]) -> Json:
    """One line of transcripts.jsonl as the page draws it: short keys, each text once, no token ids.

        {"i": [item, …], "plan", "schema", "answer", "facts": [[group, name, state, message,
        evidence], …], "asked", "usage", …}

    An item is a prompt {"k": "p"}, what the agent wrote {"k": "a"} or a tool's answer {"k": "c"},
    each with its text "t" and its tokens "n" = [how many, how many of them trained on]; an answer
    with rows has them as "r" = [fields, values, number of the first, how many there are in all].
    What the agent wrote has, token by token, its log-probability in hundredths of a nat below 0
    ("l"), where the mask is 0 ("m"), and the words ("w") where a tokenizer is at hand. "o": the
    item with which its context went on after the prompt, where the oldest had left it.

    `prompts` takes the system prompts, which most episodes share: text → number. Of what only some
    domains have (a plan, costs, a verifier's findings) the page shows what is there. Raises
    KeyError, TypeError or ValueError for what is no episode.
    """
    transcript, request = Transcript.from_json(record["transcript"]), record["request"]
    usage = transcript.usage.items()
    episode: Json = {
        "id": str(record.get("id", "")),
        "world": record.get("world"),
        "i": _items(transcript, words, prompts),
        "stop": transcript.stop_reason,
        "fault": transcript.fault,
        "usage": {name: value for name, value in usage if number(value) is not None},
        "asked": request_facts(record),
        "budget": number(request.get("budget", request.get("total_budget"))),
        "parent": transcript.parent,
    }
    if record["verdict"] is not None:
        verdict = Verdict.from_record(record["verdict"])
        checks = verdict.groups[1:]
        episode["schema"] = verdict.schema_problem
        episode["facts"] = [
            _fact(group.name, fact) for group in checks for fact in (group.facts or {}).values()
        ]
        episode["gated"] = [group.name for group in checks if group.facts is None]
        episode["error"], episode["cost"] = verdict.error, number(verdict.details.get("total_cost"))
        parts = ("day", "kind", "total_usd", "count", "unit_usd")
        episode["costs"] = [_values(cost, parts) for cost in _dicts(verdict.details.get("costs"))]
    if "plan" in record:
        episode["plan"] = _plan(record["plan"])
    else:
        domain = domains().get(str(record.get("domain")))
        answer = transcript.answer or ""
        page = domain.answer_page(answer) if domain is not None else answer
        episode["answer"] = blocks(_cut(page)) if page else []
        episode["found"] = _findings(record.get("verifier"))
        episode["details"] = _details(record.get("outside"))
    return {key: value for key, value in episode.items() if value not in (None, {}, "")}


def _items(transcript: Transcript, words: TokenWords | None, prompts: dict[str, int]) -> list[Json]:
    """In order. A call is shown with its answer, whichever of the two segments stores it."""
    items: list[Json] = []
    waiting: ToolCall | None = None
    calls = 0
    for segment in transcript.segments:
        if segment.role == "assistant":
            waiting = segment.call
            items.append(_said(segment, words))
        elif segment.role == "tool":
            call = segment.call or waiting
            calls += call is not None
            items.append(_answered(call, segment, calls))
            waiting = None
        else:
            text: str | int = _cut(segment.text)
            if segment.role == "system":
                text = prompts.setdefault(segment.text, len(prompts))
            items.append({"k": "p", "r": segment.role, "t": text, **_counted(segment)})
    if waiting is not None:
        items.append(_answered(waiting, Segment("tool", waiting.result), calls + 1))
    return items


def _said(segment: Segment, words: TokenWords | None) -> Json:
    item: Json = {"k": "a", "t": _cut(segment.text), **_counted(segment)}
    if segment.call is not None:
        item["c"] = 1
    if segment.problem is not None:
        item["p"] = segment.problem
    if segment.context_from is not None:
        item["o"] = segment.context_from
    if segment.token_ids:
        if len(segment.logprobs) == len(segment.token_ids):
            item["l"] = [_hundredths(p) for p in segment.logprobs]
        if not all(segment.loss_mask):
            item["m"] = [i for i, mask in enumerate(segment.loss_mask) if not mask]
        if words is not None and (token_words := words.of(segment.token_ids, segment.text)):
            item["w"] = token_words
    return item


def _answered(call: ToolCall | None, segment: Segment, place: int) -> Json:
    if call is None:  # what a refused turn was told
        return {"k": "c", "t": _cut(segment.text), **_counted(segment)}
    item: Json = {
        "k": "c",
        "c": place,
        "f": call.name,
        "a": call.arguments,
        "t": _cut(call.result or segment.text),
        **_counted(segment),
    }
    if call.result and segment.text != call.result:
        item["s"] = _cut(segment.text)  # cut for the model, or framed
    if call.rows is not None:
        item["r"] = [call.rows.fields, call.rows.values, call.rows.first, call.rows.total]
    if call.error:
        item["e"] = 1
    if call.fault:
        item["d"] = call.fault
    return item


def _counted(segment: Segment) -> Json:
    return {"n": [len(segment.token_ids), sum(segment.loss_mask)]} if segment.token_ids else {}


def _hundredths(logprob: float) -> int:
    return min(9_999, max(0, round(-100 * logprob))) if math.isfinite(logprob) else 9_999


def _fact(group: str, fact: Fact) -> list[Any]:
    evidence = [[each.day, each.field, each.found, each.needed] for each in fact.evidence]
    return [group, fact_title(fact.name), fact.state, fact.message or "", evidence]


def _findings(verifier: Any) -> list[Json]:
    """What a verifier said of the trajectory and of each turn that it looked at."""
    if not isinstance(verifier, dict):
        return []
    trajectory = verifier.get("trajectory")
    found = [{"call": None, **trajectory}] if isinstance(trajectory, dict) else []
    parts = ("kind", "message", "said", "call", "row")
    return [
        {
            "call": each.get("call"),
            "conclusion": each.get("conclusion"),
            "reason": each.get("reason"),
            "problems": [_values(problem, parts) for problem in _dicts(each.get("problems"))],
        }
        for each in [*found, *_dicts(verifier.get("turns"))]
    ]


def _details(outside: Any) -> list[tuple[str, str]]:
    """What the grader of another benchmark noted."""
    pairs = outside.items() if isinstance(outside, dict) else ()
    return [
        (str(name).replace("_", " "), _short(value))
        for name, value in pairs
        if value not in (None, "", [], {})
    ]


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MOST_FACT else f"{text[:MOST_FACT]} …"


def _plan(plan: Any) -> Any:
    """Days as they came; whatever else was given, as a text."""
    if not plan or (isinstance(plan, list) and all(isinstance(day, dict) for day in plan)):
        return plan or None
    return _cut(str(plan))


def _dicts(value: Any) -> Sequence[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _values(record: Json, names: Sequence[str]) -> list[Any]:
    return [record.get(name) for name in names]


def _cut(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    left = f"{len(text) - MOST_TEXT:,} more characters in the transcripts file"
    return f"{text[:MOST_TEXT]} … [{left}]"


# ---- an answer's markdown


DEEPEST = 40  # marks in each other; the parser would leave out what is deeper
_CARD = re.compile(r"\[call\s{0,3}(\d{1,4})\s{0,3},?\s{0,3}row\s{0,3}(\d{1,6})\]", re.IGNORECASE)
# Control characters, lone surrogates, and those that turn the direction of what follows: a text
# must look like what it is.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_UNREAD = (
    *("html_block", "html_inline", "entity", "reference", "autolink", "image"),
    *("code", "lheading"),  # models indent, and draw lines under paragraphs, without meaning these
)


def blocks(text: str) -> list[Json]:
    """An answer's markdown as a tree of plain values, so that the page can build it from text nodes
    alone: no HTML comes out of here, and none that a model wrote goes in. Tags, comments and
    addresses of images stand there as the text they are.

    markdown-it reads it: CommonMark and tables, without what would hide letters (HTML, entities,
    definitions of links, indented code). Blocks: heading, paragraph, list, table, quote, code,
    rule. Inline: text, strong, em, code, link (its address as text) and card, which is an evidence
    card of DeepTravel's answers (row D11), "[call 2, row 1]".
    """
    text = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)
    tokens = _PARSER.parse(text)
    if any(token.level >= DEEPEST for token in tokens):
        return [{"kind": "code", "text": text}]
    return [_node(child) for child in SyntaxTreeNode(tokens).children]


def _node(node: SyntaxTreeNode) -> Json:
    match node.type:
        case "text":
            return {"kind": "text", "text": node.content}
        case "softbreak" | "hardbreak":
            return {"kind": "text", "text": "\n"}
        case "code_inline" | "fence":
            return {"kind": "code", "text": node.content.removesuffix("\n")}
        case "card":
            return {"kind": "card", **node.meta}
        case "link":
            address = " ".join(str(value) for value in node.attrs.values())
            return {"kind": "link", "inline": _children(node), "url": address}
        case "strong" | "em":
            return {"kind": node.type, "inline": _children(node)}
        case "heading":
            return {"kind": "heading", "level": int(node.tag[1:]), "inline": _inline(node)}
        case "bullet_list" | "ordered_list":
            start = None if node.type == "bullet_list" else node.attrs.get("start", 1)
            return {"kind": "list", "start": start, "items": [_children(i) for i in node.children]}
        case "blockquote":
            return {"kind": "quote", "blocks": _children(node)}
        case "hr":
            return {"kind": "rule"}
        case "table":
            head, *rows = (
                [_inline(cell) for cell in row.children]
                for part in node.children
                for row in part.children
            )
            return {"kind": "table", "head": head, "rows": rows}
        case _:
            return {"kind": "paragraph", "inline": _inline(node)}


def _children(node: SyntaxTreeNode) -> list[Json]:
    return [_node(child) for child in node.children if child.type != "text" or child.content]


def _inline(node: SyntaxTreeNode) -> list[Json]:
    return [inline for child in node.children for inline in _children(child)]


def _card(state: StateInline, silent: bool) -> bool:
    card = _CARD.match(state.src, state.pos, state.posMax)
    if card and not silent:
        state.push("card", "", 0).meta = {"call": int(card[1]), "row": int(card[2])}
    if card:
        state.pos = card.end()
    return card is not None


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable("table").disable(list(_UNREAD))
    parser.inline.ruler.before("link", "card", _card)
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # as it was written
    return parser


_PARSER = _parser()


# ---- token ids as words


def _vocabulary(folder: Path) -> TokenWords | None:
    """Of the run's newest model, whose stages share their tokenizer, or of the local model that its
    card names. None without either."""
    tokenizers = sorted(
        folder.glob(f"model/*/{TOKENIZER_FILE}"), key=lambda path: path.stat().st_mtime
    )
    if tokenizers:
        return TokenWords.read(tokenizers[-1].parent)
    policy = Run.at(folder).card.get("policy")
    model = policy.get("model") if isinstance(policy, dict) else None
    return TokenWords.read(Path(model)) if isinstance(model, str) else None


class TokenWords:
    """The vocabulary of one tokenizer: byte-level (GPT-2, Qwen, Llama 3) or with '▁' for blanks and
    bytes as '<0x0A>' (SentencePiece). Read from the tokenizer.json of a model folder without the
    library that made it: only looking words up is needed here, never encoding (law 5), so that a
    report needs no extra."""

    def __init__(self, record: Json):
        """Raises KeyError, TypeError, AttributeError or ValueError for what is no tokenizer."""
        vocabulary = record["model"]["vocab"]
        pairs = vocabulary.items() if isinstance(vocabulary, dict) else _numbered(vocabulary)
        is_byte_level = "ByteLevel" in json.dumps(record.get("decoder"))
        piece = _byte_level if is_byte_level else _sentence_piece
        self._bytes: dict[int, bytes] = {int(number): piece(token) for token, number in pairs}
        self._special: set[int] = set()
        for added in record.get("added_tokens") or ():
            self._bytes[int(added["id"])] = str(added["content"]).encode()
            if added.get("special"):
                self._special.add(int(added["id"]))

    @classmethod
    def read(cls, folder: Path) -> TokenWords | None:
        """None where the folder holds no tokenizer that can be read."""
        try:
            return cls(json.loads((folder / TOKENIZER_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def of(self, token_ids: Sequence[int], text: str) -> list[str] | None:
        """One word per token; a character that several tokens make stands at the last of them. None
        where the words do not make `text` (special tokens and blanks around it aside): words of
        another tokenizer are not shown."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        words = []
        for i, token_id in enumerate(token_ids):
            raw = self._bytes.get(token_id)
            if raw is None:
                return None
            words.append(decoder.decode(raw, final=i == len(token_ids) - 1))
        pairs = zip(token_ids, words, strict=True)
        spoken = "".join(word for token_id, word in pairs if token_id not in self._special)
        return words if text.strip() in (spoken.strip(), "".join(words).strip()) else None


def _numbered(vocabulary: Sequence[Any]) -> Iterator[tuple[str, int]]:
    return ((token, i) for i, (token, _) in enumerate(vocabulary))


def _byte_table() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes: printable ones stand for themselves, the others for U+0100
    on, in order."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }


_BYTES = _byte_table()


def _byte_level(token: str) -> bytes:
    if all(letter in _BYTES for letter in token):
        return bytes(_BYTES[letter] for letter in token)
    return token.encode()


def _sentence_piece(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode("utf-8", "replace")
