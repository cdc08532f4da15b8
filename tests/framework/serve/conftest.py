"""One history of the demo for all tests that only read it."""

import pytest

from tests.framework.serve._served import client_of, demo_history


@pytest.fixture(scope="session")
def demo():
    return demo_history()


@pytest.fixture
def client(demo):
    return client_of(demo)
