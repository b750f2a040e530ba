"""A recipe so small that every stage of it takes a second."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def tiny_recipe() -> Any:
    pytest.importorskip("torch")
    from tripwright.training.copying import CopySettings
    from tripwright.training.grpo import GrpoSettings
    from tripwright.training.nano import NanoShape
    from tripwright.training.recipe import DialectSettings, EvaluationSettings, ModelSettings, Recipe
    from tripwright.training.sft import SftSettings

    shape = NanoShape(hidden=32, layers=1, heads=2, kv_heads=1, head_size=16, feed_forward=48, positions=1024)
    return Recipe(
        name="tiny",
        threads=1,
        dialect=DialectSettings(max_turn_tokens=32),
        model=ModelSettings(shape=shape, tokenizer_transcripts=16, superwords=80, subwords=400),
        copy=CopySettings(lengths=(4, 8), tokens_per_step=64, max_steps=3),
        sft=SftSettings(steps=6, rows_per_step=2),
        grpo=GrpoSettings(steps=1, prompts=2, group=2, rows=2),
        evaluation=EvaluationSettings(queries=4, difficulty_queries=6, per_world=3, rows=4),
    )
