"""Words to numbers: every digit becomes a claim, with the rounding that was said."""

import pytest

from tripwright.domains.deeptravel.verifiers.claims_numbers import Claim, read_numbers
from tripwright.domains.deeptravel.verifiers.tolerance import clock_fits, minutes_fit, number_fits


def _only(text: str, kind: str) -> Claim:
    found = [claim for claim in read_numbers(text) if claim.kind == kind]
    assert len(found) == 1, read_numbers(text)
    return found[0]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("at 19:00", {1140}),
        ("at 7 pm", {1140}),
        ("at 7:00 p.m.", {1140}),
        ("at 7PM", {1140}),
        ("at 12 am", {0}),
        ("at noon", {720}),
        ("at midnight", {0}),
        ("at half past six", {390, 1110}),
        ("at half past six in the evening", {1110}),
        ("quarter to 8 am", {465}),
        ("twenty past six", {380, 1100}),
        ("seven o'clock in the morning", {420}),
        ("6.45 pm", {1125}),
        ("at 06:54:00", {414}),
    ],
)
def test_clock_times(text: str, minutes: set[float]) -> None:
    assert set(_only(text, "time").values) == minutes


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("two hours", 120),
        ("2h", 120),
        ("120 minutes", 120),
        ("2h05", 125),
        ("4 h 8 min", 248),
        ("2 hours and 5 minutes", 125),
        ("1 hr 18 min", 78),
        ("an hour and a half", 90),
        ("two and a half hours", 150),
        ("2.5 hours", 150),
        ("half an hour", 30),
        ("an hour", 60),
        ("78-minute ride", 78),
        ("three quarters of an hour", 45),
        ("an hour and 20 minutes", 80),
    ],
)
def test_durations(text: str, minutes: float) -> None:
    assert _only(text, "minutes").values == (minutes,)


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$120", 120, "USD"),
        ("USD 119.5", 119.5, "USD"),
        ("about 120 dollars", 120, "USD"),
        ("1,234.50 USD", 1234.5, "USD"),
        ("€80", 80, "EUR"),
        ("one hundred and twenty dollars", 120, "USD"),
        ("233 CNY", 233, "CNY"),
        ("price: 120", 120, ""),
        ("908 USD 4 nights", 908, "USD"),
        ("11:30-13:52 $36", 36, "USD"),
        ("184 dollars 1 night", 184, "USD"),
    ],
)
def test_prices(text: str, amount: float, currency: str) -> None:
    claim = _only(text, "price")
    assert (claim.values, claim.currency) == ((amount,), currency)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("26 June", ("0000-06-26",)),
        ("June 26th", ("0000-06-26",)),
        ("2026-06-26", ("2026-06-26",)),
        ("the 26th of June, 2026", ("2026-06-26",)),
        ("June 26, 2026", ("2026-06-26",)),
        ("26-28 June", ("0000-06-26", "0000-06-28")),
        ("on the 26th", ("0000-00-26",)),
        ("26.06.2026", ("2026-06-26",)),
        ("06/07/2026", ("2026-06-07", "2026-07-06")),
    ],
)
def test_dates(text: str, days: tuple[str, ...]) -> None:
    assert _only(text, "date").values == days


def test_every_digit_is_read() -> None:
    """A text of anything: no digit stands outside a claim or a mere ordering."""
    text = "77 things at 7x, 15% off, gate B22, code 0x1F and 3,5 of 9"
    bare = [str(claim.values[0]) for claim in read_numbers(text) if claim.kind == "bare"]
    assert {"77", "7x", "15%", "b22", "0x1f"} <= set(bare)


def test_orderings_claim_nothing() -> None:
    assert read_numbers("Option 2 on day 1: two options") == []


@pytest.mark.parametrize(
    ("text", "true", "fits"),
    [
        ("120 dollars", 119.5, True),
        ("120 dollars", 119.4, False),
        ("about 120 dollars", 123, True),
        ("about 120 dollars", 126, False),
        ("about 1,200 dollars", 1187, True),
        ("about 1,200 dollars", 1260, False),
        ("119.5 USD", 119.55, True),
        ("119.5 USD", 119.7, False),
        ("about 10 dollars", 14.9, False),
        ("just over 120 dollars", 118, False),
        ("nearly 120 dollars", 118, True),
        ("nearly 120 dollars", 121, False),
    ],
)
def test_how_far_a_price_may_be_rounded(text: str, true: float, fits: bool) -> None:
    assert number_fits(_only(text, "price"), true) is fits


@pytest.mark.parametrize(
    ("text", "true", "fits"),
    [
        ("two hours", 120, True),
        ("two hours", 118, True),
        ("two hours", 126, False),
        ("about 4 hours", 248, True),
        ("about 4 hours", 275, False),
        ("about 1 hour", 78, False),
        ("125 minutes", 126, False),
        ("just over two hours", 118, False),
    ],
)
def test_how_far_a_duration_may_be_rounded(text: str, true: float, fits: bool) -> None:
    assert minutes_fit(_only(text, "minutes"), true) is fits


@pytest.mark.parametrize(
    ("text", "true", "fits"),
    [
        ("7 pm", 1140, True),
        ("7 pm", 1141, False),
        ("about 7 pm", 1144, True),
        ("about 7 pm", 1146, False),
        ("around 6:54 pm", 1133, False),
    ],
)
def test_how_far_a_clock_time_may_be_rounded(text: str, true: float, fits: bool) -> None:
    assert clock_fits(_only(text, "time"), true) is fits


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("301,00 USD", 301),
        ("USD 1.234,50", 1234.5),
        ("1,234 USD", 1234),
        ("$12,345", 12345),
        ("0,99 USD", 0.99),
    ],
)
def test_a_comma_before_two_digits_is_the_point(text: str, amount: float) -> None:
    assert _only(text, "price").values == (amount,)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("double room, 4.8★", "rating", 4.8),
        ("3n, 120 USD", "nights", 3),
        ("143 USD x 2", "people", 2),
        ("Travellers - 3", "people", 3),
        ("due at 15.12", "time", 912),
        ("the 11.00 train", "time", 660),
    ],
)
def test_short_ways_of_saying_it(text: str, kind: str, value: float) -> None:
    assert _only(text, kind).values == (value,)


def test_a_number_with_a_point_is_no_time_by_itself() -> None:
    assert [claim.kind for claim in read_numbers("tickets 12.50, hall 31.10")] == ["bare", "bare"]


def test_days_in_a_row_are_an_ordering() -> None:
    assert read_numbers("Days 2 to 4") == []
