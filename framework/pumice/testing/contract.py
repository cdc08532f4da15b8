"""The contract of every plugin as tests: ``class TestMine(PluginContract): plugin = Mine``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pumice.action import Action
from pumice.config import Policy, policy_from_dict
from pumice.discovery import Catalog, Loaded
from pumice.plugin import Plugin
from pumice.session.session import Session
from pumice.testing import contract_checks
from pumice.testing.cluster import Cluster
from pumice.testing.random_clusters import seeded_cluster
from pumice.testing.session_state import accounts, differences, plugin_state


class PluginContract:
    """Subclass it and set ``plugin``: pytest then tests the plugin's contract.

    Each rule is tested on small random clusters, the same in every run. Override :meth:`clusters`
    if the plugin needs certain facts to have an opinion.
    """

    plugin: ClassVar[type[Plugin] | str]
    """The class, or the name of an installed plugin."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Its options, as in a policy."""
    caches: ClassVar[frozenset[str]] = frozenset()
    """Attributes that are caches: an undo may leave them changed."""
    seeds: ClassVar[int] = 8
    """How many random clusters."""

    def clusters(self) -> list[Cluster]:
        """The clusters to test on; made again for each test, which may modify them."""
        return [seeded_cluster(seed) for seed in range(self.seeds)]

    # -- the contract

    def test_it_loads_without_a_warning(self) -> None:
        loaded = self._loaded()
        assert not loaded.warnings, "; ".join(loaded.warnings)

    def test_it_tolerates_an_empty_cluster(self) -> None:
        for cluster in (
            Cluster(),
            Cluster().queue("q"),
            Cluster().nodes("a"),
            Cluster().job("j", tasks=2),
            Cluster().nodes("a").job("j", tasks=0),
        ):
            session = self._session(cluster)
            contract_checks.answers(session)
            session.ask.on_session_close()

    def test_it_does_not_modify_its_input(self) -> None:
        # Without verification, which would report the change as a wrong cached answer.
        for session in self._sessions(verify=False):
            before = (accounts(session), contract_checks.facts(session))
            contract_checks.answers(session)
            after = (accounts(session), contract_checks.facts(session))
            for now, then in zip(after, before, strict=True):
                changed = differences(now, then)
                assert not changed, _message("an answer modified the plugin's input", changed)

    def test_it_is_deterministic(self) -> None:
        for first, second in zip(self._sessions(), self._sessions(), strict=True):
            changed = differences(contract_checks.answers(second), contract_checks.answers(first))
            assert not changed, _message("the same cluster got different answers", changed)

    def test_asked_twice_it_answers_the_same(self) -> None:
        for session in self._sessions():
            first = contract_checks.answers(session)
            state = self._state(session)
            changed = differences(contract_checks.answers(session), first)
            assert not changed, _message("the answer changed although nothing happened", changed)
            changed = differences({"plugins": self._state(session)}, {"plugins": state})
            assert not changed, _message("answering a question changed the plugin's state", changed)

    def test_its_orders_are_consistent(self) -> None:
        for session in self._sessions():
            wrong = list(contract_checks.inconsistent_orders(session))
            assert not wrong, _message("a comparison contradicts itself", wrong)

    def test_its_vector_and_scalar_forms_agree(self) -> None:
        for session in self._sessions():
            wrong = list(contract_checks.disagreeing_forms(session))
            assert not wrong, _message("two forms of one extension point disagree", wrong)

    def test_its_answers_stay_within_their_scope(self) -> None:
        for session in self._sessions():
            wrong = list(contract_checks.beyond_scope(session))
            assert not wrong, _message("an answer depends on more than its declared scope", wrong)

    def test_undoing_restores_its_state(self) -> None:
        for session in self._sessions():
            contract_checks.answers(session)
            before, answered = self._state(session), contract_checks.answers(session)
            for statement in contract_checks.trials(session):
                statement.discard()
                changed = differences({"plugins": self._state(session)}, {"plugins": before})
                changed += differences(contract_checks.answers(session), answered)
                assert not changed, _message("on_deallocate did not undo on_allocate", changed)

    # -- helpers

    def _catalog(self) -> tuple[Catalog, str]:
        catalog = Catalog()
        if isinstance(self.plugin, str):
            return catalog, self.plugin
        name = self.plugin.__name__.lower()
        catalog.register_local("plugin", name, self.plugin)
        return catalog, name

    def _loaded(self) -> Loaded:
        catalog, name = self._catalog()
        return catalog.load("plugin", name)

    def _policy(self) -> Policy:
        catalog, name = self._catalog()
        catalog.register_local("action", "idle", _Idle)
        table = {
            "actions": ["idle"],
            "tiers": [{"plugins": [name]}],
            "plugin": {name: dict(self.options)},
            "scheduler": {"on_plugin_error": "raise"},
        }
        return policy_from_dict(table, where=type(self).__name__, catalog=catalog)

    def _session(self, cluster: Cluster) -> Session:
        return cluster.session(self._policy(), verify=True)

    def _sessions(self, *, verify: bool = True) -> list[Session]:
        policy = self._policy()
        return [cluster.session(policy, verify=verify) for cluster in self.clusters()]

    def _state(self, session: Session) -> dict[str, Any]:
        return {
            name: plugin_state(plugin, {(name, cache) for cache in self.caches})
            for name, plugin in session.plugins.items()
        }


class _Idle(Action):
    """Do nothing: a policy needs an action."""

    def execute(self, session: Session) -> None:
        pass


def _message(problem: str, lines: list[str]) -> str:
    return "\n  ".join([f"{problem}:", *lines[:10]])
