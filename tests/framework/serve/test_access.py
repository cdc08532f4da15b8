"""Tokens, the Host header, and requests of other sites."""

import pytest

from pumice.errors import PumiceError
from pumice.serve.access import Access, choose_token, is_loopback

TOKEN = "correct-horse-battery"


@pytest.mark.parametrize(
    "host, allowed",
    [
        ("127.0.0.1:8642", True),
        ("localhost:8642", True),
        ("LOCALHOST", True),
        ("[::1]:8642", True),
        ("evil.example:8642", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("evil.example#localhost", False),
        ("localhost:port", False),
        ("", False),
        (None, False),
    ],
)
def test_a_local_server_answers_to_local_names_only(host, allowed):
    assert Access("127.0.0.1", 8642).allows_host({"Host": host}) is allowed


def test_a_server_for_others_may_have_any_name():
    access = Access("0.0.0.0", 8642, TOKEN)
    assert access.allows_host({"Host": "cluster.example:8642"})
    assert not access.allows_host({})


@pytest.mark.parametrize(
    "headers, allowed",
    [
        ({}, True),
        ({"Origin": "http://localhost:8642"}, True),
        ({"Origin": "http://localhost:8642", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "http://localhost:9999"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://evil.example"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
    ],
)
def test_only_the_page_itself_may_change_something(headers, allowed):
    given = {"Host": "localhost:8642", **headers}
    assert Access("127.0.0.1", 8642).allows_origin(given) is allowed


@pytest.mark.parametrize(
    "headers, admitted",
    [
        ({"Authorization": f"Bearer {TOKEN}"}, True),
        ({"Authorization": f"bearer {TOKEN}"}, True),
        ({"Cookie": f"other=1; pumice_8642={TOKEN}"}, True),
        ({}, False),
        ({"Authorization": f"Basic {TOKEN}"}, False),
        ({"Authorization": "Bearer "}, False),
        ({"Authorization": "Bearer ümläut"}, False),
        ({"Cookie": f"pumice_8643={TOKEN}"}, False),
        ({"Cookie": "pumice_8642="}, False),
        ({"Cookie": "\x00;=;;"}, False),
    ],
)
def test_the_token_is_demanded(headers, admitted):
    assert Access("0.0.0.0", 8642, TOKEN).admits(headers) is admitted


def test_without_a_token_all_are_admitted():
    assert Access("127.0.0.1", 8642).admits({})


@pytest.mark.parametrize(
    "host, local", [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_a_token_is_generated_where_others_can_reach_the_server(host, local):
    assert is_loopback(host) is local
    assert bool(choose_token(host, None)) is not local
    assert choose_token(host, TOKEN) == TOKEN


def test_generated_tokens_differ():
    assert choose_token("0.0.0.0", None) != choose_token("0.0.0.0", None)
    assert choose_token("0.0.0.0", choose_token("0.0.0.0", None))


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 201, "has a blank in the middle", "semi;" * 5]
)
def test_a_token_that_cannot_be_used_is_refused(token):
    with pytest.raises(PumiceError, match="--token") as caught:
        choose_token("127.0.0.1", token)
    assert "generated" in caught.value.hint
    if token.strip():
        assert token not in str(caught.value)


def test_an_unknown_host_is_refused():
    with pytest.raises(PumiceError, match="--host: 'no such host' has no address"):
        is_loopback("no such host")
