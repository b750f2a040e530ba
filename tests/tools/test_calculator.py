import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.domains.travelplanner.tools.calculator import MAX_LENGTH, MAX_MAGNITUDE, evaluate
from tripwright.tools.answer import ToolError

NUMBERS = st.one_of(st.integers(0, 5000).map(str), st.floats(0, 5000).map(lambda x: f"{x:.2f}"))
ORDINARY = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        inner.map(lambda x: f"-{x}"),
    ),
    max_leaves=8,
)


@settings(deadline=None)  # the machine may be busy
@given(ORDINARY)
def test_agrees_with_python(expression):
    try:
        expected = eval(expression)
    except ZeroDivisionError:
        with pytest.raises(ToolError, match="Division by zero"):
            evaluate(expression)
        return
    try:
        assert evaluate(expression) == expected
    except ToolError:  # only where a bound was hit
        assert len(expression) > MAX_LENGTH or "*" in expression or "/" in expression


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.text(max_size=600),
        st.text("0123456789.eE+-*/%() ", max_size=600),
        st.text(string.printable, max_size=80),
    )
)
def test_nothing_but_a_bounded_number_or_a_tool_error(expression):
    try:
        value = evaluate(expression)
    except ToolError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert type(value) in (int, float) and abs(value) <= MAX_MAGNITUDE


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2**10", 1024),
        ("-3 + +5", 2),
        ("1e3", 1000.0),
        ("+".join(["1"] * 250), 250),
        ("-" * 400 + "1", 1),
    ],
)
def test_values(expression, value):
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("9**9**9", "Exponents"),
        ("1e18*10", "larger"),
        ("1e400", "larger"),
        ("9" * 400, "larger"),
        ("1,118 * 2", "1118, not 1,118"),
        ("$5 + 1", r"found '\$'"),
        ("__import__('os')", "found '_'"),
        ("2^3", r"found '\^'"),
        ("(-8) ** 0.5", "real"),
        ("e", "Only numbers"),
        ("1 2", "not valid"),
        ("1(2)", "Only numbers"),
        ("(" * 300 + "1" + ")" * 300, "characters"),
        ("(" * 240 + "1" + ")" * 240, "not valid"),
        ("0/0", "Division"),
        ("0.0 % 0", "Division"),
        ("0 ** -1", "Division"),
        ("", "empty"),
        ("1+\n2", "unreadable"),
    ],
)
def test_refusals_say_why(expression, said):
    with pytest.raises(ToolError, match=said):
        evaluate(expression)
