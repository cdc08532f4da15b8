"""One request against one node and against many: the forms agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.model.fitting import CPU_AND_MEMORY, RequestFit

amounts = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@pytest.mark.parametrize(
    "request_, free, always, missing",
    [
        ([1, 1, 0], [1, 1, 0], CPU_AND_MEMORY, 0),
        ([1, 1, 0], [0, 1, 0], CPU_AND_MEMORY, 1),
        ([1, 2, 1], [1, 1, 0], CPU_AND_MEMORY, 2),
        ([0, 0, 0], [-1, 0, 0], CPU_AND_MEMORY, 1),  # over-committed: takes nothing more
        ([0, 0, 0], [-1, -1, -1], (), 0),
        ([0, 0, 1], [-1, -1, 1], (), 0),
        ([0, 0, 0], [0, 0, -1], CPU_AND_MEMORY, 0),  # a scalar counts only where it is asked for
    ],
)
def test_what_is_compared(request_, free, always, missing):
    fit = RequestFit(np.array(request_), always)
    assert fit.missing(free) == missing
    assert fit.fits(free) is (missing == 0)


@given(amounts, st.lists(amounts, min_size=1, max_size=5), st.sampled_from([(), (0,), (0, 1)]))
def test_one_node_and_many_agree(request_, free, always):
    fit = RequestFit(np.array(request_), always)
    rows = np.array(free)
    assert fit.mask(rows).tolist() == [fit.fits(row) for row in free]
    assert fit.missing_dimensions(rows).tolist() == [fit.missing(row) for row in free]
