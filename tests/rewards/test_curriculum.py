"""When the reward changes its weights: by steps, by epochs, and when a stage has no more to give
(rows P5, S5)."""

import random
from dataclasses import replace

import pytest

from tripwright.domains.travelplanner.rewards import MACRO, REWARDS, SUCCESS, SUM
from tripwright.rewards.curriculum import Curriculum, CurriculumState
from tripwright.rewards.spec import dense

PLANNER_R1_8B = Curriculum(stages=(("stage1", 100), ("stage2", 300), ("stage3", 100)))
PLANNER_R1_32B = Curriculum(stages=(("stage1", 50), ("stage2", 350), ("stage3", 100)))
STAR = Curriculum("epochs", (("sum", 2), ("macro", 2), ("success", 1)))
ADAPTIVE = Curriculum("adaptive", (("stage1", 0), ("stage2", 0), ("stage3", 0)))
ADAPT = replace(ADAPTIVE, window=5, noise=1.0, least_signal=0.2)


def course_of(curriculum: Curriculum) -> CurriculumState:
    return CurriculumState(
        curriculum, [{**REWARDS, "dense": dense}[str(named)] for named in curriculum.rewards]
    )


@pytest.mark.parametrize(
    ("curriculum", "at"),
    [
        (PLANNER_R1_8B, {0: SUM, 99: SUM, 100: MACRO, 399: MACRO, 400: SUCCESS, 100_000: SUCCESS}),
        (PLANNER_R1_32B, {0: SUM, 49: SUM, 50: MACRO, 399: MACRO, 400: SUCCESS, 100_000: SUCCESS}),
        (Curriculum(), {0: dense, 1: dense, 500: dense}),
        (
            Curriculum(stages=(("stage3", 0), ("stage2", 1), ("stage1", 1))),
            {0: MACRO, 1: SUM, 2: SUM},
        ),
    ],
    ids=["P5, 8B", "P5, 32B", "default", "an empty stage"],
)
def test_by_steps(curriculum, at):
    course = course_of(curriculum)
    for step, reward in at.items():
        course.begin(step, 0.0)
        assert course.reward is reward, step


@pytest.mark.parametrize(
    ("epoch", "reward"),
    [(0.0, SUM), (1.97, SUM), (2.0, MACRO), (3.9, MACRO), (4.0, SUCCESS), (7.0, SUCCESS)],
)
def test_by_epochs(epoch, reward):
    course = course_of(STAR)
    course.begin(10_000, epoch)
    assert course.reward is reward


def walk(course: CurriculumState, means: list[float], signal: float) -> list[int]:
    stages = []
    for step, mean in enumerate(means):
        course.begin(step, 0.0)
        stages.append(course.stage)
        course.end(mean, signal)
    return stages


def test_an_adaptive_stage_lasts_while_its_reward_rises():
    rng = random.Random(0)
    rising = [0.2 * step + rng.gauss(0, 0.05) for step in range(40)]
    assert set(walk(course_of(ADAPT), rising, 0.9)) == {0}


def test_and_ends_when_it_does_not():
    course = course_of(ADAPT)
    stages = walk(course, [1.0] * 32, 0.9)
    assert stages == [0] * 10 + [1] * 10 + [2] * 12  # two windows each; the last goes on
    assert course.next_reward is None


def test_but_not_into_a_stage_that_has_nothing_to_say():
    assert set(walk(course_of(ADAPT), [1.0] * 40, 0.1)) == {0}
    assert walk(course_of(ADAPT), [1.0] * 12, 0.2)[-1] == 1


def test_a_bound_ends_an_adaptive_stage_anyway():
    bound = Curriculum("adaptive", (("stage1", 3), ("stage2", 0)), window=5)
    assert walk(course_of(bound), [float(step) for step in range(5)], 0.0) == [0, 0, 0, 1, 1]


def test_a_course_goes_on_from_its_state():
    rng = random.Random(1)
    means = [min(1.0, 0.1 * step) + rng.gauss(0, 0.1) for step in range(60)]
    whole, first = course_of(ADAPTIVE), course_of(ADAPTIVE)
    straight = walk(whole, means, 0.5)
    half = walk(first, means[:30], 0.5)
    second = course_of(ADAPTIVE)
    second.load_state_dict(first.state_dict())
    assert half + walk(second, means[30:], 0.5) == straight
    assert second.state_dict() == whole.state_dict()
