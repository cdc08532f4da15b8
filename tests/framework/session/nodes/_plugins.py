"""Filters and scores of different scopes."""

import numpy as np

from pumice import Plugin, hookimpl
from pumice.verdicts import Code, FitError, NodeVerdicts


def filter_plugin(name, text, *, scope="row", code=Code.UNSCHEDULABLE, form="predicate"):
    if form == "predicate":

        @hookimpl(scope=scope)
        def method(self, task, node, job):
            return FitError.of(text, code) if text else None
    else:

        @hookimpl(scope=scope)
        def method(self, task, nodes):
            return NodeVerdicts.accept(len(nodes)).reject(np.ones(len(nodes), bool), text, code)

    method.__name__ = form
    return type(name, (Plugin,), {form: method})


class Favourite(Plugin):
    """The higher the letter of a node's name, the better."""

    @hookimpl(scope="static")
    def node_order(self, node):
        return float(ord(node.name[0]))


class Zone(Plugin):
    """Static, vector only: nodes of zone a."""

    @hookimpl(scope="static")
    def predicate_nodes(self, nodes):
        wrong = nodes.fact("zone", lambda node: node.labels.get("zone") != "a")
        return NodeVerdicts.accept(len(nodes)).reject(wrong, "wrong zone", Code.UNRESOLVABLE)

    @hookimpl(scope="static")
    def batch_node_order(self, nodes):
        return nodes.fact("odd", lambda node: int(node.name[-1]) % 2, float)
