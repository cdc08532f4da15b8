"""The resource dimensions of a cluster."""

import numpy as np

from pumice.model.dimensions import Dimensions
from tests.framework._build import GI, GPU, amount


def test_dimensions_have_a_fixed_order():
    dimensions = Dimensions(["z", GPU, "pods", "cpu", "a"])
    assert dimensions.names == ("cpu", "memory", "pods", "a", GPU, "z")
    vector = dimensions.vector(amount(1.5, 2, 1, pods=3))
    assert vector.tolist() == [1500, 2 * GI, 3, 0, 1000, 0]
    assert vector.dtype == np.int64
    assert dimensions.resource(vector) == amount(1.5, 2, 1, pods=3)


def test_a_resource_that_nothing_has_is_left_out():
    assert Dimensions().vector(amount(1, 0, 1)).tolist() == [1000, 0, 0]
