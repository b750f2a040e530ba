"""Files of conversations: every format that is written gives the tokens that an episode has, and
nothing is left out in silence."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.agent.chat import ChatFormat
from tripwright.agent.turn import opening_thoughts
from tripwright.domains import dialect_named, domain_named
from tripwright.errors import UserError
from tripwright.training.trips import (
    ExpertTranscripts,
    FileSamples,
    GeneratedTrips,
    TokenizedRow,
    expert_sessions,
)
from tripwright.transcript import StopReason, Transcript

torch = pytest.importorskip("torch")

from tripwright.training.data_source import COLD_START, trips_of
from tripwright.training.recipe import Recipe
from tripwright.training.sft import FineTuning, SftSettings
from tripwright.training.sft_data import (
    ChatMasks,
    expert_samples,
    file_samples,
    read_conversations,
    read_rows,
)

SETTINGS = SftSettings(data="x", dtype="float32")
MOST = 2048
TEMPLATES = Path(__file__).parents[1] / "tokens" / "templates"
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def with_ids(chat: Any) -> list[Transcript]:
    stream = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 4), 6)
    return [
        session.transcript for session in expert_sessions(stream, dialect_named("compact"), chat)
    ]


@pytest.fixture(scope="module")
def texts(with_ids: list[Transcript]) -> list[Transcript]:
    """The same, as of an endpoint."""
    bare: dict[str, Any] = {"token_ids": [], "loss_mask": [], "logprobs": []}
    return [replace(t, segments=[replace(s, **bare) for s in t.segments]) for t in with_ids]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """written(*records, name=…) → the path of a file with one record a line."""

    def write(*records: Any, name: str = "data.jsonl") -> str:
        return str(write_lines(tmp_path / name, records))

    return write


def messages_of(transcript: Transcript) -> list[dict[str, str]]:
    return [{"role": segment.role, "content": segment.text} for segment in transcript.segments]


def episode(number: int, transcript: Transcript, **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "transcript": transcript.to_json(), **more}


def episodes_of(transcripts: list[Transcript]) -> list[dict[str, Any]]:
    return [episode(i, transcript) for i, transcript in enumerate(transcripts)]


def rows_of(path: str, tokenizer: Any, most: int = MOST, **changed: Any) -> list[TokenizedRow]:
    return read_rows(replace(SETTINGS, data=path, **changed), tokenizer, None, most)[0]


# ---- every format, the same tokens


def test_every_format_of_a_trajectory_has_the_tokens_of_the_episode(
    with_ids, texts, nano_tokenizer, written
):
    names = {"user": "human", "assistant": "gpt", "tool": "observation"}
    messages, sharegpt = [], []
    for first, *others in map(messages_of, texts):
        messages.append({"messages": [first, *others], "tools": None})
        turns = [{"from": names[x["role"]], "value": x["content"]} for x in others]
        sharegpt.append({"system": first["content"], "tools": "", "conversations": turns})
    for records in (episodes_of(with_ids), episodes_of(texts), messages, sharegpt):
        found = rows_of(written(*records), nano_tokenizer)
        assert found == [TokenizedRow(t.token_ids, t.loss_mask) for t in with_ids]


def test_parquet_is_read_as_it_was_exported(with_ids, nano_tokenizer, tmp_path):
    pytest.importorskip("pyarrow")
    from tripwright.data.export import write_rows

    about = {"tools": None, "level": "easy", "days": 3, "dialect": "compact", "world": "w"}
    rows = [
        {"id": str(i), "messages": messages_of(t), "query": "{}", **about}
        | {"input_ids": t.token_ids, "loss_mask": t.loss_mask}
        | {"train": [s.role == "assistant" for s in t.segments]}
        for i, t in enumerate(with_ids)
    ]
    write_rows(iter(rows), tmp_path / "train.parquet")
    assert rows_of(str(tmp_path / "train.parquet"), nano_tokenizer) == [
        TokenizedRow(t.token_ids, t.loss_mask) for t in with_ids
    ]


def test_a_run_folder_gives_the_last_try_of_each_episode(texts, tmp_path):
    lines = [episode(0, texts[0]), episode(1, texts[1]), episode(0, texts[2])]
    write_lines(tmp_path / "transcripts.jsonl", lines)
    found = [c.transcript for c in read_conversations(tmp_path)]
    assert found == [texts[1], texts[2]]


def test_turns_that_are_not_to_be_trained_on_have_no_mask(texts, nano_tokenizer, written):
    messages = messages_of(texts[0])
    last = [i == len(messages) - 1 for i in range(len(messages))]
    (row,) = rows_of(written({"messages": messages, "train": last}), nano_tokenizer)
    (said,) = said_by(nano_tokenizer, row.token_ids, row.loss_mask)
    assert said == messages[-1]["content"] + nano_tokenizer.eos_token


def test_a_turn_that_was_cut_has_no_stop_token(texts, nano_tokenizer, written):
    cut = replace(texts[0], stop_reason=StopReason.MAX_TURN_TOKENS)
    whole, short = rows_of(written(episode(0, texts[0]), episode(1, cut)), nano_tokenizer)
    assert short.token_ids == whole.token_ids[:-1]
    assert whole.token_ids[-1] == nano_tokenizer.eos_token_id


# ---- masks from templates


def spoken(nano_tokenizer: Any, template: str) -> Any:
    tokenizer = copy.deepcopy(nano_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = template
    return tokenizer


CHAT = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Where to?"},
    {"role": "user", "content": "Rome"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}],
    },
    {"role": "tool", "content": "sunny"},
    {"role": "assistant", "content": "Go."},
]
MARKED = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% generation %}{{"
    " m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}{%"
    " endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def said_by(tokenizer: Any, ids: list[int], mask: list[int]) -> list[str]:
    """What is trained on, stretch by stretch."""
    runs = itertools.groupby(zip(ids, mask, strict=True), key=lambda pair: pair[1])
    return [tokenizer.decode([token for token, _ in run]) for trained, run in runs if trained]


def test_markers_of_the_template_say_what_the_assistant_says(nano_tokenizer):
    tokenizer = spoken(nano_tokenizer, MARKED)
    ids, mask = ChatMasks(tokenizer).encode(CHAT[:3] + CHAT[5:], None)
    assert said_by(tokenizer, ids, mask) == ["Where to?<|im_end|>", "Go.<|im_end|>"]
    ids, mask = ChatMasks(tokenizer).encode(CHAT[:3] + CHAT[5:], None, [False, False, False, True])
    assert said_by(tokenizer, ids, mask) == ["Go.<|im_end|>"]


def test_without_markers_what_a_turn_adds_is_the_assistants(nano_tokenizer):
    tokenizer = spoken(nano_tokenizer, (TEMPLATES / "qwen2_5.jinja").read_text())
    ids, mask = ChatMasks(tokenizer).encode(CHAT, None)
    first, call, last = said_by(tokenizer, ids, mask)
    assert (first, last) == ("Where to?<|im_end|>", "Go.<|im_end|>")
    assert '"arguments": {"x": 1}' in call and call.endswith("</tool_call><|im_end|>")
    assert tokenizer.decode(ids) == tokenizer.apply_chat_template(CHAT, tokenize=False)


def test_a_template_that_writes_earlier_turns_anew_is_refused(nano_tokenizer):
    """Qwen3's, where the user speaks again: it leaves out the thoughts of earlier turns."""
    tokenizer = spoken(nano_tokenizer, (TEMPLATES / "qwen3.jinja").read_text())
    thought = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nWhere to?"}
    talk = [CHAT[0], thought, CHAT[2], CHAT[5]]
    with pytest.raises(UserError, match="writes earlier turns anew and has no ") as refused:
        ChatMasks(tokenizer).encode(talk, None)
    assert "\n" not in str(refused.value)


def test_an_episode_has_the_frame_that_the_policy_sees(texts, nano_tokenizer):
    """Qwen3 without thinking: the empty thought that opens a turn stays, and is not trained on."""
    tokenizer = spoken(nano_tokenizer, (TEMPLATES / "qwen3.jinja").read_text())
    ids, mask = ChatMasks(tokenizer).encode(messages_of(texts[0]), None)
    turns = [s.text for s in texts[0].segments if s.role == "assistant"]
    assert said_by(tokenizer, ids, mask) == [turn + "<|im_end|>" for turn in turns]
    assert tokenizer.decode(ids).count("<think>\n\n</think>\n\n") == len(turns)


# ---- what is left out


def test_what_is_left_out_is_counted(texts, nano_tokenizer, written):
    whole = rows_of(written(*episodes_of(texts)), nano_tokenizer)
    lengths = sorted(len(row.token_ids) for row in whole)
    most = lengths[-1] - 1
    unscored = replace(texts[0], stop_reason=StopReason.UNSCORED)
    silent = {"messages": messages_of(texts[0])[:2]}
    path = written(*episodes_of(texts), episode(9, unscored), silent)
    rows, figures = read_rows(replace(SETTINGS, data=path), nano_tokenizer, None, most)
    left_out = (figures.too_long, figures.unscored, figures.without_turns)
    assert (figures.read, figures.used, left_out) == (8, 5, (1, 1, 1))
    assert figures.tokens == sum(len(r.token_ids) for r in rows)
    assert figures.trained_tokens == sum(sum(r.loss_mask) for r in rows)
    found = figures.line(most)
    assert f"1 longer than {most} tokens, 1 without a turn of the assistant, 1 unscored" in found
    cutting = replace(SETTINGS, data=path, too_long="cut")
    cut, figures = read_rows(cutting, nano_tokenizer, None, most)
    assert max(len(r.token_ids) for r in cut) == most and figures.cut == 1 and figures.used == 6
    told = rf"data.jsonl:\d: {lengths[-1]} tokens, {most} are allowed"
    with pytest.raises(UserError, match=told):
        read_rows(replace(SETTINGS, data=path, too_long="refuse"), nano_tokenizer, None, most)


TWICE = r'"{\"a\": 1, \"a\": 2}"'


SAID = '{"messages": [{"role": "user", "content": "x"}], %s}'
ASKED = '{"messages": [{"role": "user", "content": "x", %s}]}'
PLAYED = '{"messages": [{"role": "assistant", %s}]}'
THOUGHT_TWICE = '"content": "<think>a</think>x", "reasoning_content": "b"'
CALLED = PLAYED % '"tool_calls": [{"function": {"name": "f", "arguments": %s}}]'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", r":2: not JSON"),
        ('{"text": "x"}', ":2: .*no 'messages', 'conversations' or 'transcript'"),
        ('{"messages": [{"role": "bot", "content": "x"}]}', r":2: messages\.1\.role: "),
        ('{"messages": [{"role": "user"}]}', r":2: messages\.1: .*content must be a text"),
        (PLAYED % '"tool_calls": [{}]', r":2: messages\.1\.tool_calls\.1\.function: "),
        *(
            (CALLED % arguments, r":2: messages\.1\.tool_calls\.1\.function\.arguments: ")
            for arguments in (r'"\"{}\""', '"null"', "null", "[]", '"[1]"', '"{"', TWICE)
        ),
        (ASKED % '"weight": 0', r":2: .*1\.weight: "),
        (ASKED % '"reasoning_content": "y"', r":2: messages\.1: .*reasoning_content"),
        (PLAYED % THOUGHT_TWICE, ":2: reasoning_content"),
        (SAID % '"system": "s"', ":2: .*'system'"),
        (SAID % '"tools": "{"', ":2: tools: "),
        (SAID % '"train": [true, true]', ":2: .*train: expected one true or false"),
        (SAID % '"input_ids": [1]', ":2: .*input_ids and loss_mask"),
        ('{"conversations": [{"from": "robot", "value": "x"}]}', r":2: .*\.1\.from: .*robot"),
        ('{"transcript": {}}', ":2: transcript: "),
        (SAID % '"input_ids": [99999], "loss_mask": [1]', ":2: its token ids are of another"),
    ],
)
def test_a_bad_line_is_named(line, words, texts, nano_tokenizer, written):
    with pytest.raises(UserError, match=words) as refused:
        rows_of(written({"messages": messages_of(texts[0])}, line), nano_tokenizer)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("arguments", [{"x": 1}, '{"x": 1}', {}, ""])
def test_arguments_are_an_object_or_a_text_of_one(arguments, written):
    call = {"function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}
    (conversation,) = read_conversations(written({"messages": [message]}))
    expected = {"x": 1} if arguments else {}
    assert conversation.messages[0].tool_calls[0].function.arguments == expected


@pytest.mark.parametrize("dialect", ["compact", "star", "deeptravel"])
def test_reasoning_is_the_thought_that_opens_the_turn(dialect, nano_tokenizer, written):
    talk = [
        *({"role": role, "content": role} for role in ("system", "user")),
        {"role": "assistant", "content": "Go.", "reasoning_content": "I look."},
    ]
    path = written({"messages": talk, "source": "web"})
    (row,), figures = read_rows(
        replace(SETTINGS, data=path), nano_tokenizer, dialect_named(dialect), MOST
    )
    (said,) = said_by(nano_tokenizer, row.token_ids, row.loss_mask)
    assert said == "<think>I look.</think>\nGo." + nano_tokenizer.eos_token
    assert opening_thoughts(said, dialect_named(dialect).turns).thoughts == ["I look."]
    assert figures.unread == {"source": f"{path}:1"} and "source" in figures.line(MOST)


def test_a_file_with_nothing_to_train_on_is_refused(texts, nano_tokenizer, written, tmp_path):
    with pytest.raises(UserError, match="holds nothing to train on: 0 of 1 conversations.*1"):
        rows_of(written({"messages": messages_of(texts[0])[:2]}), nano_tokenizer)
    with pytest.raises(UserError, match="No training data at"):
        rows_of(str(tmp_path / "nowhere.jsonl"), nano_tokenizer)
    (tmp_path / "bad.parquet").write_text("no")
    pytest.importorskip("pyarrow")
    with pytest.raises(UserError, match="is not a Parquet file"):
        rows_of(str(tmp_path / "bad.parquet"), nano_tokenizer)


# ---- as a source


def test_every_epoch_has_all_samples_in_another_order_and_any_place_can_be_jumped_to(
    with_ids, nano_tokenizer, written
):
    settings = replace(SETTINGS, data=written(*episodes_of(with_ids)), max_epochs=3.0)
    source = file_samples(settings, dialect_named("compact"), nano_tokenizer, MOST, seed=0)
    drawn = [id(row) for row in source]
    epochs = [drawn[i : i + 6] for i in range(0, 18, 6)]
    assert len(drawn) == 18
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 1
    assert len({tuple(epoch) for epoch in epochs}) > 1
    again = FileSamples(source.rows, 0, 3.0)
    again.load_state_dict({"position": 10})
    assert [id(row) for row in again] == drawn[10:]


def test_a_stage_ends_with_its_epochs(with_ids, nano_tokenizer, tiny_model, written):
    """Six conversations twice, four a step: three steps, and the rate falls to its end."""
    settings = replace(SETTINGS, data=written(*episodes_of(with_ids)), max_epochs=2.0, steps=None)
    source = file_samples(settings, dialect_named("compact"), nano_tokenizer, MOST, seed=0)
    loop = FineTuning(tiny_model("qwen3", len(nano_tokenizer)), source, settings)
    rows = []
    while loop.progress < 1:
        rows.append(loop.take_step())
    assert [row["epoch"] for row in rows] == pytest.approx([4 / 6, 8 / 6, 2.0])
    assert rows[-1]["tokens"] == 2 * sum(len(t.token_ids) - 1 for t in with_ids)


def test_the_limit_is_the_dialects_the_files_and_the_models(with_ids, nano_tokenizer, written):
    path, compact = written(*episodes_of(with_ids)), dialect_named("compact")
    short = max(len(t.token_ids) for t in with_ids) - 1

    def used(positions: int = MOST, dialect: Any = compact, **changed: Any) -> int:
        settings = replace(SETTINGS, data=path, **changed)
        return file_samples(settings, dialect, nano_tokenizer, positions, seed=0).count

    assert used() == 6
    assert used(positions=short) == used(max_tokens=short) == 5
    assert used(dialect=replace(compact, context_tokens=short)) == 5


def test_so_many_of_the_experts_transcripts_are_read_in_epochs(nano_tokenizer):
    recipe, chat = Recipe(name="t", seed=3), ChatFormat(nano_tokenizer)
    trips, dialect = trips_of(recipe, COLD_START), dialect_named("compact")
    stream = ExpertTranscripts(trips, dialect, chat)
    again = ExpertTranscripts(trips_of(recipe, COLD_START), dialect, chat)
    first = [list(t.token_ids) for t in itertools.islice(stream, 5)]
    samples = expert_samples(again, SftSettings(expert_transcripts=5, max_epochs=2.0), seed=3)
    read = [list(row.token_ids) for row in samples]
    assert len(read) == 10 and samples.count == 5
    assert sorted(read[:5]) == sorted(first) == sorted(read[5:])
    assert all(any(row.loss_mask) for row in samples.rows)


def test_no_expert_transcript_is_longer_than_its_pupils_context(nano_tokenizer, tiny_model):
    """A policy's last turn is cut at the context's end; an expert's is not, and was trained on."""
    recipe, dialect = Recipe(name="t", seed=3), dialect_named("compact")

    def first(context_tokens: int) -> tuple[list[list[int]], ExpertTranscripts]:
        narrow, chat = replace(dialect, context_tokens=context_tokens), ChatFormat(nano_tokenizer)
        stream = ExpertTranscripts(trips_of(recipe, COLD_START), narrow, chat)
        assert stream.left_out == 0
        return [list(t.token_ids) for t in itertools.islice(stream, 6)], stream

    all_of_them, stream = first(dialect.context_tokens)
    assert stream.left_out == 0
    longest = max(all_of_them, key=len)
    shorter, stream = first(len(longest) - 1)
    assert longest in first(len(longest))[0] and longest not in shorter
    assert all(len(ids) < len(longest) for ids in shorter)
    assert stream.left_out == (stream.trips.position - 6) / stream.trips.position > 0
    model, settings = tiny_model("qwen3", len(nano_tokenizer)), SftSettings(steps=1, batch_size=1)
    assert FineTuning(model, stream, settings).take_step()["left_out"] == stream.left_out > 0
