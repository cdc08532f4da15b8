"""Every command sets up logging; the tests undo it."""

import pytest
from loguru import logger


@pytest.fixture(autouse=True)
def _restore_logging():
    yield
    logger.remove()
    logger.disable("pumice")
