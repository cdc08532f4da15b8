"""Comparisons of queues that are cached while victims are chosen."""

from pumice.session.order_keys import VictimQueues
from tests.framework._build import World, policy, task


def test_queues_are_compared_again_after_a_task_has_changed():
    world = World().node("n", cpu=4).queue("a").queue("b").job("j", on=["n"])
    session = world.session(policy([], actions=[]))
    asked = []

    class Order:
        def victim_queue_before(self, left, right, preemptor_queue):
            asked.append((left.name, right.name))
            return True

    queues = VictimQueues(Order(), session.cluster.job_journal)
    a, b = session.queues["a"], session.queues["b"]
    for _ in range(2):
        assert queues.before(a, b, a)
    assert asked == [("a", "b")]
    with session.statement() as statement:
        statement.evict(task(session, "j-t-0"), "test")
        queues.before(a, b, a)
    queues.before(a, b, a)
    assert len(asked) == 3


class _Ranking:
    """Which queue goes first, as pairs of names."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def victim_queue_before(self, left, right, preemptor_queue):
        return (left.name, right.name) in self.pairs


def test_queues_are_sorted_where_their_order_is_total():
    session = World().node("n").queue("a").queue("b").queue("c").session(policy([], actions=[]))
    queues = [session.queues[name] for name in "abc"]
    total = VictimQueues(_Ranking(("c", "a"), ("c", "b"), ("b", "a")), [])
    assert total.in_order(queues, queues[0]) == ["c", "b", "a"]
    circular = VictimQueues(_Ranking(("a", "b"), ("b", "c"), ("c", "a")), [])
    assert circular.in_order(queues, queues[0]) is None
