"""TravelPlanner's verbs: requests made and checked, plans solved, judged, shown and submitted."""

from tripwright.cli.verbs import Verb

WORD = "Word trip requests anew, by grammar or by a model, and check the words."
SCORE = "Judge plans: verdicts, costs, TravelPlanner's metrics, rule sets compared."
# name, module, function, help
REQUESTS = (
    ("query make", "query", "make", "Make trip requests that a world can meet."),
    ("query check", "query", "check", "Check that trip requests can be met."),
    ("query word", "word", "word", WORD),
)
PLANS = (
    ("solve", "solve", "solve", "Plan trips exactly, or prove that no plan exists."),
    ("score", "score", "score", SCORE),
    ("show", "show", "show", "Show one plan with its verdict beside what it concerns."),
    ("format", "format", "format_itineraries", "Turn itineraries in words into plans."),
    ("submission write", "submission", "write", "Write plans as a submission for the leaderboard."),
    ("submission check", "submission", "check", "Check a submission's format."),
)
VERBS = (
    *(Verb(name, f"{__name__}.{at}", does, help, "Data") for name, at, does, help in REQUESTS),
    *(Verb(name, f"{__name__}.{at}", does, help, "Judge") for name, at, does, help in PLANS),
)

GROUPS = {
    "query": "Make, word and check trip requests.",
    "submission": "Write and check leaderboard submissions.",
}
