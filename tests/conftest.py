"""What every test may use: the material shared between projects, where this machine has it."""

import os
import signal
from pathlib import Path

import pytest

from tests.sampling import VARIABLE, choose_seed

ROOT = Path(__file__).resolve().parent.parent


def shared_dir() -> Path | None:
    """Give the folder of shared references, cases and traces, or None where there is none.

    PUMICE_SHARED names it; without that it is the folder `shared` beside the checkout.
    """
    named = os.environ.get("PUMICE_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder; the test is skipped without it."""
    folder = shared_dir()
    if folder is None:
        pytest.skip("no shared material: set PUMICE_SHARED or put it in ../shared")
    return folder


def pytest_configure() -> None:
    choose_seed()
    # A shell that starts the tests in the background makes them, and what they start, deaf to
    # Ctrl-C, which some of them try.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"samples: {VARIABLE}={choose_seed()}"
