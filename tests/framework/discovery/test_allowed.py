"""An allow-list of distributions: nothing else is imported."""

import sys

import pytest

from pumice.config import load_policy
from pumice.discovery import Catalog
from pumice.errors import LoadError, PolicyError

GOOD = """
    from pumice import Action, Plugin

    class Calm(Plugin):
        '''Does nothing.'''

    class Rest(Action):
        '''Does nothing.'''

        def execute(self, session):
            pass
"""
SPECS = "raise SystemError('imported')"


@pytest.fixture
def installed(site):
    site.install("pumice-calm", GOOD, plugins={"calm": "Calm"}, actions={"rest": "Rest"})
    site.install("Pumice_Wild", SPECS, plugins={"wild": "Wild"}, hookspecs={"wild": "Specs"})
    return site


def policy(tmp_path, plugins, setting, **options):
    file = tmp_path / "policy.toml"
    file.write_text(
        f'actions = ["rest"]\n\n[[tiers]]\nplugins = {plugins}\n\n[scheduler]\n{setting}\n'
    )
    return load_policy(file, env=options.get("env", {}), catalog=Catalog())


def test_a_part_of_another_distribution_is_refused_with_its_line_and_the_fix(installed, tmp_path):
    with pytest.raises(PolicyError) as refused:
        policy(tmp_path, '["calm", "wild"]', 'allowed_distributions = ["pumice.calm"]')
    (line,) = refused.value.problems
    assert line == (
        f"{tmp_path}/policy.toml:4: plugin 'wild' is of distribution 'Pumice_Wild', which is not"
        " allowed (add 'Pumice_Wild' to allowed_distributions in [scheduler], or do without it)"
    )


@pytest.mark.parametrize("name", ["pumice-calm", "Pumice_Calm", "pumice.calm"])
def test_names_are_compared_as_package_indexes_do(installed, tmp_path, name):
    loaded = policy(tmp_path, '["calm"]', f'allowed_distributions = ["{name}"]')
    assert loaded.scheduler.allowed_distributions == (name,)


@pytest.mark.parametrize(
    "setting",
    ['allowed_distributions = ["pumice-calm"]\nperiod = "soon"', "allowed_distributions = 1"],
)
def test_nothing_else_is_imported_even_if_the_policy_is_wrong(installed, tmp_path, setting):
    with pytest.raises(PolicyError):
        policy(tmp_path, '["wild"]', setting)
    assert "Pumice_Wild" not in sys.modules
    assert not _attempts(Catalog(), ["pumice-calm"])


def test_without_a_list_hookspecs_of_all_distributions_are_imported(installed):
    assert _attempts(Catalog(), None) == ["hookspecs 'wild'"]


def test_the_environment_may_give_the_list(installed, tmp_path):
    env = {"PUMICE_SCHEDULER__ALLOWED_DISTRIBUTIONS": "pumice-calm, other"}
    loaded = policy(tmp_path, '["calm"]', "", env=env)
    assert loaded.scheduler.allowed_distributions == ("pumice-calm", "other")


def test_a_catalog_forgets_the_list_of_an_earlier_policy(installed):
    catalog = Catalog()
    catalog.allow([])
    with pytest.raises(LoadError, match="not allowed"):
        catalog.load("plugin", "calm")
    catalog.allow(None)
    assert catalog.load("plugin", "calm").name == "calm"


def _attempts(catalog: Catalog, allowed: list[str] | None) -> list[str]:
    """The hookspecs that the catalog tried to import."""
    catalog.allow(allowed)
    errors = [line.error for line in catalog.listing("hookspecs") if line.error is not None]
    return [str(error).partition(" (")[0] for error in errors if "not allowed" not in str(error)]
