"""The pieces of a chat template that an episode appends, against what the template writes of the
whole conversation."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tripwright.agent.chat import ChatFormat
from tripwright.domains import face_named
from tripwright.errors import UserError

pytest.importorskip("torch")

TEMPLATES = Path(__file__).parent / "templates"  # as published with Qwen2.5 and Qwen3
SYSTEM, USER = "You plan trips.", "Three days in Aston, please."
TURNS = (
    '<tool_call>{"name":"get_cities"}</tool_call>',
    '{"cities":["Aston"]}',
    "One moment. <tool_call>{}</tool_call>",
    '{"error":"?"}',
)
NO_THOUGHT = "<think>\n\n</think>\n\n"


def with_template(tokenizer: Any, template: str) -> Any:
    changed = copy.deepcopy(tokenizer)
    changed.add_tokens(["<|im_start|>", "<|endoftext|>"], special_tokens=True)
    changed.chat_template = template
    return changed


@pytest.fixture(scope="session", params=["nano", "qwen2_5", "qwen3"])
def named_tokenizer(request: pytest.FixtureRequest, nano_tokenizer: Any) -> tuple[str, Any]:
    if request.param == "nano":
        return "nano", nano_tokenizer
    return request.param, with_template(
        nano_tokenizer, (TEMPLATES / f"{request.param}.jinja").read_text(encoding="utf-8")
    )


def whole(tokenizer: Any, tools: Any, turns: tuple[str, ...]) -> str:
    """What the template makes of the conversation at once."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    messages += [
        {"role": ("assistant", "tool")[i % 2], "content": turn} for i, turn in enumerate(turns)
    ]
    text: str = tokenizer.apply_chat_template(
        messages, tools=tools, add_generation_prompt=True, tokenize=False, enable_thinking=False
    )
    return text


def continued(chat: ChatFormat, turns: tuple[str, ...], max_tokens: int = 1000) -> list[int]:
    """The same conversation token by token, as an episode appends it."""
    ids = chat.opening(SYSTEM, USER)
    for i, turn in enumerate(turns):
        ids += chat.tool_answer(turn, max_tokens).ids if i % 2 else chat.said(turn)
    return ids


@pytest.mark.parametrize(
    "tools", [None, face_named("planner_r1").schemas()], ids=["no tools", "tools"]
)
@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_continued_conversation_reads_as_the_template_writes_it(named_tokenizer, tools, count):
    name, tokenizer = named_tokenizer
    chat = ChatFormat(tokenizer, tools)
    found = chat.decode(continued(chat, TURNS[:count]))
    # empty thoughts of past turns stay as they were seen; the template leaves them out
    if name == "qwen3":
        assert found.count(NO_THOUGHT) == count // 2 + 1
        found = found.replace(NO_THOUGHT, "") + NO_THOUGHT
    assert found == whole(tokenizer, tools, TURNS[:count])


def test_the_stop_token_is_a_token(named_tokenizer):
    _, tokenizer = named_tokenizer
    chat = ChatFormat(tokenizer)
    assert chat.stop_token == "<|im_end|>"
    assert chat.said("Hello")[-1] == chat.stop_id == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert chat.said("Hello")[:-1] == chat.encode("Hello")


def test_tools_are_written_into_the_prompt_only_when_given(named_tokenizer):
    name, tokenizer = named_tokenizer
    bare, told = (
        chat.decode(chat.opening(SYSTEM, USER))
        for chat in (
            ChatFormat(tokenizer),
            ChatFormat(tokenizer, face_named("planner_r1").schemas()),
        )
    )
    assert "search_flights" not in bare
    assert ("search_flights" in told) == (name != "nano")


ANSWER = '{"rows":[' + ",".join(f'["Cheap inn {n}",{n}]' for n in range(40)) + "]}"


def within_its_frame(chat: ChatFormat, ids: list[int]) -> list[int]:
    """The ids of an answer, which stand between those that an empty one has too."""
    empty = chat.tool_answer("", 100).ids
    inside = len(ids) - len(empty)
    return next(
        ids[i : i + inside]
        for i in range(len(empty) + 1)
        if [*ids[:i], *ids[i + inside :]] == empty
    )


def test_a_tool_answer_that_fits_stands_whole_in_its_frame(named_tokenizer):
    chat = ChatFormat(named_tokenizer[1])
    ids = chat.encode(ANSWER)
    shown = chat.tool_answer(ANSWER, len(ids))
    assert within_its_frame(chat, shown.ids) == ids and shown.text == ANSWER


@pytest.mark.parametrize("limit", [60, 61, 100, 150])
def test_a_longer_one_is_cut_on_the_right_and_says_so_within_the_limit(named_tokenizer, limit):
    chat = ChatFormat(named_tokenizer[1])
    ids = chat.encode(ANSWER)
    assert len(ids) > 150
    shown = chat.tool_answer(ANSWER, limit)
    inside = within_its_frame(chat, shown.ids)
    said = re.search(r"… cut: (\d+) of (\d+) tokens shown$", shown.text)
    assert said is not None and int(said[2]) == len(ids)
    kept = int(said[1])
    assert inside[:kept] == ids[:kept] and len(inside) <= limit
    assert len(inside) >= limit - 2  # a digit less or half a character
    assert shown.text == chat.decode(inside) == chat.decode(ids[:kept]) + said[0]


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_where_the_note_has_no_room_there_is_only_the_beginning(named_tokenizer, limit):
    chat = ChatFormat(named_tokenizer[1])
    shown = chat.tool_answer(ANSWER, limit)
    assert within_its_frame(chat, shown.ids) == chat.encode(ANSWER)[:limit]
    assert shown.text == chat.decode(chat.encode(ANSWER)[:limit])


def test_no_character_is_cut_in_half(named_tokenizer):
    chat = ChatFormat(named_tokenizer[1])
    text = "\u4e2d\u6587\U0001f600" * 60
    for limit in range(70, 80):
        assert "\ufffd" not in chat.tool_answer(text, limit).text


NO_TOOL_ROLE = """
{%- for m in messages %}{% if m.role in ('system', 'user', 'assistant') %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
RAISES = """
{%- for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}
{%- endfor %}{{ messages[-1].content }}<|im_end|>"""
ONLY_THE_LAST_TURN = """
{%- for m in messages %}{% if m.role != 'assistant' or loop.last %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
SHORTENED = """
{%- for m in messages %}<|{{ m.role }}|>{{ m.content if loop.last or m.role != 'user' else '...' }}<|im_end|>{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
NUMBERED = """
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endfor %}
{%- if add_generation_prompt %}({{ messages | length }})<|assistant|>{% endif %}"""
NO_STOP = """
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}
{% endfor %}"""


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "no chat template"),
        (NO_TOOL_ROLE, "no 'tool' role"),
        (RAISES, "Only user and assistant roles are supported!"),
        (ONLY_THE_LAST_TURN, "rewrites earlier turns"),
        (SHORTENED, "rewrites earlier turns"),
        (NUMBERED, "rewrites earlier turns"),
        (NO_STOP, "no known stop token"),
    ],
    ids="none no_tool_role raises drops_turns shortens_turns numbers_turns no_stop".split(),
)
def test_templates_that_do_not_fit_are_refused_in_one_line(template, why, nano_tokenizer):
    with pytest.raises(UserError, match=why) as refused:
        ChatFormat(with_template(nano_tokenizer, template or ""))
    assert "\n" not in str(refused.value)


def test_an_empty_system_prompt_is_none(named_tokenizer):
    _, tokenizer = named_tokenizer
    wanted = tokenizer.apply_chat_template(
        [{"role": "user", "content": USER}],
        add_generation_prompt=True,
        tokenize=False,
        enable_thinking=False,
    )
    chat = ChatFormat(tokenizer)
    assert chat.decode(chat.opening("", USER)) == wanted
