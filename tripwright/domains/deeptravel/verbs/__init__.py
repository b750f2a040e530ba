"""DeepTravel's verbs: travellers' requests, verified answers, recorded answers of live tools."""

from tripwright.cli.verbs import Verb

VERBS = (
    Verb(
        "request make",
        f"{__name__}.request",
        "make",
        "Make travellers' requests for the live tools, each proved possible.",
        "requests",
    ),
    Verb(
        "request difficulty",
        f"{__name__}.request",
        "difficulty",
        "Measure how hard requests are by repeated attempts; split them.",
        "requests",
    ),
    Verb(
        "request review",
        f"{__name__}.request",
        "review",
        "Write requests as a file for people to look through.",
        "requests",
    ),
    Verb(
        "request accept",
        f"{__name__}.request",
        "accept",
        "Take over what people ticked and reworded.",
        "requests",
    ),
    Verb(
        "verify",
        f"{__name__}.verify",
        "verify",
        "Verify answers against their transcripts, by rules or an LLM judge.",
        "episodes",
    ),
    Verb(
        "sandbox info",
        f"{__name__}.sandbox",
        "info",
        "Say what a store of live answers holds.",
        "episodes",
    ),
    Verb(
        "sandbox refresh",
        f"{__name__}.sandbox",
        "refresh_day",
        "Ask a day's questions again and keep the answers as a new day.",
        "episodes",
    ),
    Verb(
        "sandbox export",
        f"{__name__}.sandbox",
        "export_day",
        "Write one day of answers as one file.",
        "episodes",
    ),
    Verb(
        "sandbox import",
        f"{__name__}.sandbox",
        "import_day",
        "Add the day in a file to a store.",
        "episodes",
    ),
    Verb(
        "sandbox drop", f"{__name__}.sandbox", "drop_day", "Delete a day from a store.", "episodes"
    ),
)

GROUPS = {
    "request": "Make, measure and review travellers' requests for the live tools.",
    "sandbox": "Look after recorded answers of live tools.",
}
