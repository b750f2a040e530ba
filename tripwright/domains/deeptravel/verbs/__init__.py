"""DeepTravel's verbs: travellers' requests, verified answers, recorded answers of live tools."""

from tripwright.cli.verbs import Section, Verb


def _verb(words: str, function: str, help: str, section: Section = "Data") -> Verb:
    """Of the module that is named after the first word."""
    return Verb(words, f"{__name__}.{words.split()[0]}", function, help, section)


VERBS = (
    _verb("request make", "make", "Make travellers' requests, each proved possible."),
    _verb("request difficulty", "difficulty", "Measure by attempts how hard requests are."),
    _verb("verify", "verify", "Verify answers by rules or by an LLM judge.", "Judge"),
    _verb("sandbox info", "info", "Say what a store of live answers holds.", "Serve"),
    _verb("sandbox refresh", "refresh_day", "Ask a day's questions once more.", "Serve"),
    _verb("sandbox export", "export_day", "Copy one day of answers into another store.", "Serve"),
)

GROUPS = {
    "request": "Make and measure travellers' requests for the live tools.",
    "sandbox": "Look after recorded answers of live tools.",
}
