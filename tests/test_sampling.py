"""Samples can be repeated and differ from run to run."""

from tests import sampling


def test_the_same_seed_draws_the_same_sample(monkeypatch):
    monkeypatch.setenv(sampling.VARIABLE, "7")
    first = sampling.sample("twins", 1000, 20)
    assert first == sampling.sample("twins", 1000, 20)
    assert len(set(first)) == 20
    assert set(first) <= set(range(1000))


def test_another_seed_or_test_draws_another(monkeypatch):
    monkeypatch.setenv(sampling.VARIABLE, "7")
    first = sampling.sample("twins", 1000, 20)
    assert sampling.sample("others", 1000, 20) != first
    monkeypatch.setenv(sampling.VARIABLE, "8")
    assert sampling.sample("twins", 1000, 20) != first


def test_a_run_without_a_seed_draws_one_and_hands_it_on(monkeypatch):
    monkeypatch.delenv(sampling.VARIABLE, raising=False)
    seed = sampling.choose_seed()
    assert sampling.choose_seed() == seed
