"""TravelPlanner's verbs: requests made and checked, plans solved, judged, shown and submitted."""

from tripwright.cli.verbs import Verb

VERBS = (
    Verb(
        "query make",
        f"{__name__}.query",
        "make",
        "Make trip requests that a world can meet.",
        "requests",
    ),
    Verb(
        "query check",
        f"{__name__}.query",
        "check",
        "Check that trip requests can be met.",
        "requests",
    ),
    Verb(
        "query word",
        f"{__name__}.word",
        "word",
        "Word trip requests anew, by grammar or by a model, and check the words.",
        "requests",
    ),
    Verb(
        "solve",
        f"{__name__}.solve",
        "solve",
        "Plan trips exactly, or prove that no plan exists.",
        "plans",
    ),
    Verb(
        "score",
        f"{__name__}.score",
        "score",
        "Judge plans: verdicts, costs, TravelPlanner's metrics, rule sets compared.",
        "plans",
    ),
    Verb(
        "show",
        f"{__name__}.show",
        "show",
        "Show one plan with its verdict beside what it concerns.",
        "plans",
    ),
    Verb(
        "format",
        f"{__name__}.format",
        "format_itineraries",
        "Turn itineraries in words into plans.",
        "plans",
    ),
    Verb(
        "submission write",
        f"{__name__}.submission",
        "write",
        "Write plans as a submission for the leaderboard.",
        "plans",
    ),
    Verb(
        "submission check",
        f"{__name__}.submission",
        "check",
        "Check a submission's format.",
        "plans",
    ),
)

GROUPS = {
    "query": "Make, word and check trip requests.",
    "submission": "Write and check leaderboard submissions.",
}
