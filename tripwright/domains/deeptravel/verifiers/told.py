"""What an answer must state in each part (rows D3 and D11): of a ride when it departs and what it
costs, of a stay what it costs.

A list of bare names can claim nothing false. But nobody could book from it, and rubric 1 of A.2.2
asks whether an answer is complete; row D11's recommendations have a date, a time and a price. One
recommendation of a part must have them, so that a second one may be named in passing. What the tool
answer does not say, an answer need not state. Evidence cards may be left out: whether the words are
true is decided without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tripwright.domains.deeptravel.verifiers.claims import Reading, Statement
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity
from tripwright.domains.deeptravel.verifiers.claims_parts import Part
from tripwright.domains.deeptravel.verifiers.evidence import EvidenceRow
from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem
from tripwright.domains.deeptravel.verifiers.fits import is_chain, moment
from tripwright.domains.deeptravel.verifiers.grounding import otherwise
from tripwright.domains.deeptravel.verifiers.support import ClaimBasis, end_said, supported
from tripwright.domains.deeptravel.verifiers.tolerance import clock_fits

_PARTS: tuple[Part, ...] = ("outbound", "stay", "return")


def untold(
    reading: Reading, chosen: dict[Entity, EvidenceRow], base: ClaimBasis
) -> Iterator[VerifierProblem]:
    """What is stated of no recommendation of a part, told of the first. The legs of one journey are
    one recommendation: each has a time, of the second that of its arrival will do, and one has a
    price."""
    for part in _PARTS:
        entities = [entity for entity in reading.recommended.get(part, []) if entity in chosen]
        rows = [chosen[entity] for entity in entities]
        said = [
            [each for each in reading.statements if each.subject == entity] for entity in entities
        ]
        priced = [
            _tells_price(of_one, row, reading, chosen, base)
            for of_one, row in zip(said, rows, strict=True)
        ]
        chain = is_chain(rows)
        ends = [
            ("departs_at", "arrives_at") if chain and place else ("departs_at",)
            for place in range(len(rows))
        ]
        timed = [
            row.kind != "ride" or _tells_time(of_one, row, end)
            for of_one, row, end in zip(said, rows, ends, strict=True)
        ]
        if chain:
            priced, timed = [any(priced)], [all(timed)]
        if rows and not any(time and price for time, price in zip(timed, priced, strict=True)):
            if not timed[0]:
                yield _problem(
                    "untold_time", f"The answer does not say when {rows[0].name} departs.", rows[0]
                )
            if not priced[0]:
                yield _problem(
                    "untold_price", f"The answer does not say what {rows[0].name} costs.", rows[0]
                )


def _tells_time(said: Sequence[Statement], row: EvidenceRow, ends: Sequence[str]) -> bool:
    """A time of such an end, true or not: whether it is true the turn level says."""
    times = [each for each in said if each.claim.kind == "time"]
    true = [
        when.hour * 60.0 + when.minute for end in ends if (when := moment(row, end)) is not None
    ]
    return not true or any(
        end_said(each) in ends or any(clock_fits(each.claim, minute) for minute in true)
        for each in times
    )


def _tells_price(
    said: Sequence[Statement],
    row: EvidenceRow,
    reading: Reading,
    chosen: dict[Entity, EvidenceRow],
    base: ClaimBasis,
) -> bool:
    """A price of its own, true or not, and not the budget or a sum beside it; or the very number
    without a currency, as in a table."""
    price = row.number("price")
    if price is None:
        return True
    bare = {str(each.claim.values[0]) for each in said if each.claim.kind == "bare"}
    prices = [each for each in said if each.claim.kind == "price"]
    own = any(
        supported(each, row, base) or not otherwise(each, reading, base, chosen) for each in prices
    )
    return own or f"{price:g}" in bare


def _problem(kind: str, message: str, row: EvidenceRow) -> VerifierProblem:
    return VerifierProblem(kind, message, row.name, row.call, row.row)
