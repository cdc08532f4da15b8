"""Random clusters for hypothesis."""

from pumice.testing import Cluster, Schedule
from pumice.testing.strategies import clusters
from tests.framework.testing._isolated import isolated
from tests.sampling import random_examples


@random_examples(5, 15, clusters())
def test_hypothesis_draws_clusters_that_can_be_scheduled(cluster):
    assert isinstance(cluster, Cluster)
    assert Schedule(cluster)(tiers=[["gang", "predicates"]]).evicted == []


def test_without_hypothesis_the_error_names_what_to_install():
    output = isolated(
        """
        import sys
        sys.modules["hypothesis"] = None
        try:
            import pumice.testing.strategies
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    assert "needs hypothesis, which is not installed" in output
    assert "pumice-framework[testing]" in output
