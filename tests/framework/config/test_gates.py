"""Which points an entry of a policy answers."""

from pumice.config import policy_from_dict


class TestGates:
    def entry(self, parts, **gates):
        data = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "gang", **gates}]}]}
        return policy_from_dict(data, catalog=parts).plugins[0]

    def test_everything_is_answered_by_default(self, parts):
        assert self.entry(parts).answers("preemptable")

    def test_enable_allows_nothing_else(self, parts):
        entry = self.entry(parts, enable=["job_starving"])
        assert entry.answers("job_starving")
        assert not entry.answers("preemptable")

    def test_disable_takes_away(self, parts):
        entry = self.entry(parts, disable=["preemptable"])
        assert entry.answers("job_starving")
        assert not entry.answers("preemptable")

    def test_a_form_counts_as_its_point(self, parts):
        entry = self.entry(parts, enable=["batch_node_order", "predicate"])
        assert entry.answers("node_order")
        assert entry.answers("batch_node_order")
        assert entry.answers("predicate_nodes")
        assert not entry.answers("job_order_key")

    def test_life_cycle_is_never_gated(self, parts):
        assert self.entry(parts, enable=[]).answers("on_session_open")

    def test_voters_stand_in_tiers_and_count_for_the_point_of_their_form(self, load):
        policy = load(
            'actions = ["allocate"]\n'
            '[[tiers]]\nplugins = [{name="gang", disable=["preemptable"]}]\n'
            '[[tiers]]\nplugins = ["nodeorder"]\n'
        )
        names = [[entry.name for entry in tier] for tier in policy.voters("node_order")]
        assert names == [[], ["nodeorder"]]
        assert policy.voters("preemptable") == ((), ())
