"""Decoding presets: the papers' rows by name, and nothing beside them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tripwright.agent.chat import EstimatedTokens
from tripwright.domains import dialect_named
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.policies.settings import PRESETS, Decoding, PolicySettings


def test_presets_are_the_rows_and_without_one_the_options_say_it():
    assert {name: PolicySettings(preset=name).decoding for name in PRESETS} == {
        "greedy": Decoding(0.0),
        "planner_r1": Decoding(0.0),  # row P9
        "planner_r1_train": Decoding(1.0, 1.0, -1),
        "star": Decoding(0.6, 0.95),  # row S10
        "server": Decoding(1.0),
    }
    assert PolicySettings().decoding == Decoding(0.0)
    given = PolicySettings(temperature=0.7, top_p=0.9, top_k=5)
    assert given.decoding == Decoding(0.7, 0.9, 5)


@pytest.mark.parametrize(
    "given", [{"temperature": 0.6}, {"top_p": 0.95}, {"top_k": 20}, {"temperature": 0.0}]
)
def test_a_preset_and_an_option_contradict_each_other_even_when_they_agree(given):
    with pytest.raises(UserError, match="--decoding star says"):
        _ = PolicySettings(preset="star", **given).decoding


def test_an_unknown_preset_is_named():
    with pytest.raises(UserError, match="Unknown decoding 'deepseek'. Accepted: greedy"):
        _ = PolicySettings(preset="deepseek").decoding


def test_what_was_chosen_is_sent_and_said_on_the_card():
    how = PRESETS["planner_r1_train"]
    settings = PolicySettings(
        "m", base_url="http://x/v1", temperature=how.temperature, top_p=how.top_p, top_k=how.top_k
    )
    chosen = choose_policy(settings, dialect_named("planner_r1"))
    assert chosen.decoding == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 4096, "top_k": -1}
    assert chosen.identity["tokens_counted_by"] == EstimatedTokens().name
    plain = choose_policy(PolicySettings("m", base_url="http://x/v1"), dialect_named("planner_r1"))
    assert "top_k" not in plain.decoding  # a card made before the setting existed still matches


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        (None, {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ("thinking", {"thinking": {"type": "disabled"}}),
        ("reasoning_effort", {"reasoning_effort": "none"}),
    ],
)
def test_thinking_is_switched_off_as_the_server_knows_it_and_the_card_says_what_was_sent(
    field, sent
):
    settings = PolicySettings("m", base_url="http://x/v1", thinking="off", thinking_field=field)
    chosen = choose_policy(settings, dialect_named("planner_r1"))
    (name,) = sent
    assert chosen.decoding[name] == sent[name]
    assert chosen.policy._endpoint.extra_body == sent  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        ("endpoint", {"thinking": "maybe"}, "Accepted: on, off"),
        ("endpoint", {"thinking": "on", "thinking_field": "x"}, "Unknown --thinking-field 'x'"),
        ("endpoint", {"thinking_field": "thinking"}, "give both, or neither"),
        ("endpoint", {"tokenizer": Path("nowhere")}, "No tokenizer in 'nowhere'"),
        ("expert", {"thinking": "off"}, "does not know --thinking: .* endpoint"),
    ],
)
def test_what_does_not_go_together_is_said(policy, settings, message):
    told = PolicySettings(
        **({"model": "m", "base_url": "http://x/v1"} if policy == "endpoint" else {}), **settings
    )
    with pytest.raises(UserError, match=message):
        choose_policy(replace(told, name=policy), dialect_named("planner_r1"))


def test_a_prompt_that_fills_its_limit_is_told_before_anything_is_asked(nano_tokenizer, tmp_path):
    """In the words of a tiny tokenizer Planner-R1's prompt is longer than in Qwen's."""
    nano_tokenizer.save_pretrained(tmp_path)
    settings = PolicySettings("m", base_url="http://x/v1", tokenizer=tmp_path)
    with pytest.raises(UserError, match=r"has [234],\d{3} tokens before any request .*are 2,268"):
        choose_policy(settings, dialect_named("planner_r1"))
    assert choose_policy(settings, dialect_named("compact")).identity["tokens_counted_by"] == str(
        tmp_path
    )
