"""Claims of an answer in words that the verifier found to rest on nothing."""

from tripwright.domains.deeptravel.task import wrong_claims


def test_claims_come_from_the_findings_of_their_turns():
    problems = [
        {"kind": "wrong_price"},
        {"kind": "invented_name"},
        {"kind": "wrong_parameters"},
        {"kind": "taken_back"},
    ]
    assert wrong_claims({"verifier": {"turns": [{"problems": problems}]}}) == {
        "price": (1, 1),
        "name": (1, 1),
    }
    assert wrong_claims({"verifier": {"turns": []}}) is None and wrong_claims({}) is None
