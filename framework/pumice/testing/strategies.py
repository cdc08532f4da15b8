"""Hypothesis strategies of clusters, for property tests of plugins."""

from __future__ import annotations

from pumice.testing.cluster import Cluster
from pumice.testing.random_clusters import draw_cluster

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pumice.testing.strategies needs hypothesis, which is not installed; install it: "
        "pip install 'pumice-framework[testing]'",
        name=error.name,
    ) from None


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """A cluster of up to five nodes and eight jobs, with all kinds of constraints."""
    return draw_cluster(lambda values: draw(st.sampled_from(list(values))))
