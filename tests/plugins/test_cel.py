"""The expressions of device selectors: values, errors and bounds."""

import pytest

from pumice_builtin_plugins.kube.dra.cel import compiled
from pumice_builtin_plugins.kube.dra.cel_arithmetic import CelError

DRIVER = "gpu.example.com"

DEVICE = {
    "device": {
        "driver": DRIVER,
        "attributes": {DRIVER: {"model": "A100", "index": 3, "ok": True}},
        "capacity": {DRIVER: {"memory": 40 * 2**30 * 1000}},
    }
}


@pytest.mark.parametrize(
    "expression, value",
    [
        ("device.driver == 'gpu.example.com'", True),
        ("device.attributes['gpu.example.com'].model != \"A100\"", False),
        ("device.attributes['gpu.example.com'].index >= 3 && true", True),
        ("!device.attributes['gpu.example.com'].ok || false", False),
        ("device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0", True),
        ("device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('41Gi'))", False),
        ("device.attributes['gpu.example.com'].model in ['A100', 'H100']", True),
        ("device.attributes['gpu.example.com'].model.startsWith('A')", True),
        ("device.attributes['gpu.example.com'].model.matches('^[AH]1')", True),
        ("has(device.attributes['gpu.example.com'].none)", False),
        ("1 + 2 * 3 - 4 / 2 == 5 && 7 % 4 == 3 && -1 < 0", True),
        ("(1 < 2 ? 'a' : 'b') == 'a'", True),
        ("size([1, 2]) == 2 && size('abc') == 3", True),
        ("semver('1.10.0').isGreaterThan(semver('1.9.3'))", True),
        ("semver('1.0.0-rc').isLessThan(semver('1.0.0'))", True),
        ("r'a\\d' + 'x\\'y' == 'a\\\\dx\\'y'", True),
        ("device.none || true", True),
        ("device.none && false", False),
    ],
)
def test_expressions(expression, value):
    assert compiled(expression)(DEVICE) is value


@pytest.mark.parametrize(
    "expression",
    ["", "1 +", "a.b(", "device.driver.explode()", "explode(1)", "1 2", "'a", "@", "(" * 5000],
)
def test_expressions_that_cannot_be_read(expression):
    with pytest.raises(CelError):
        compiled(expression)


@pytest.mark.parametrize("expression", ["missing", "1 + 'a'", "1 / 0", "device.driver < 1", "1.x"])
def test_expressions_without_a_value(expression):
    with pytest.raises(CelError):
        compiled(expression)(DEVICE)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("'x' * 1000000000 == ''", "no such operation on str and int"),
        ("[1] * 1000000000 == []", "no such operation on list and int"),
        ("'%1000000000d' % 5 == ''", "no such operation on str and int"),
        ("-'a' == 1", "no such operation on int and str"),
        ("true + true == 2", "no such operation on bool and bool"),
        (" * ".join(["4000000000"] * 9) + " > 0", "builds an integer of more than 64 bits"),
        ("device.long + device.long == ''", "builds a value of 80000 characters"),
        ("device.many + device.many == []", "builds a value of 80000 items"),
        ("1" + " + 1" * 2000 + " > 0", "nested too deeply"),
    ],
)
def test_what_an_expression_builds_is_bounded(expression, message):
    env = {"device": {"long": "x" * 40_000, "many": [0] * 40_000}}
    with pytest.raises(CelError, match=message) as raised:
        compiled(expression)(env)
    assert len(str(raised.value)) < 200
    if "builds" in message:
        assert expression[:30] in str(raised.value), "the expression is named"


def test_no_intermediate_integer_is_larger_than_the_bound():
    """The sizes of the operands are counted, not the time: squares would double them each time."""
    largest = 0

    class Counted(int):
        def __mul__(self, other):
            nonlocal largest
            largest = max(largest, self.bit_length(), other.bit_length())
            return Counted(int(self) * int(other))

    square = "device.n"
    for _ in range(8):
        square = f"({square} * {square})"
    with pytest.raises(CelError, match="64 bits"):
        compiled(square)({"device": {"n": Counted(2**60)}})
    assert 0 < largest <= 73


@pytest.mark.parametrize("expression", ["9" * 5000 + " > 0", "9" * 30 + " > 0", " " * 10241 + "1"])
def test_literals_and_expressions_that_are_too_long(expression):
    with pytest.raises(CelError, match=r"64 bits|longer than 10240"):
        compiled(expression)


@pytest.mark.parametrize(
    "pattern, matches",
    [("^(a+)+$", False), ("^(a|a)*$", False), ("(a*)*b", False), ("a!$", True)],
)
def test_patterns_take_linear_time(pattern, matches):
    """A backtracking engine would need 2 ** 50000 steps for the first three."""
    text = "a" * 50_000 + "!"
    found = compiled(f"device.text.matches('{pattern}')")({"device": {"text": text}})
    assert found is matches


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\\1"])
def test_patterns_that_the_engine_refuses(pattern):
    with pytest.raises(CelError):
        compiled(f"'a'.matches('{pattern}')")(DEVICE)
