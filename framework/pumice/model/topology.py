"""The tree of hypernodes, with a virtual root above everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pumice.kube.labels import matches_selector
from pumice.kube.patterns import pattern
from pumice.model.facts import HyperNode, Node

ROOT = "<cluster-top-hypernode>"
"""The name of the virtual hypernode above all nodes."""

_MAX_DEPTH = 100


class HyperNodeTree:
    """Hypernodes by name: tier, children, parent, and the nodes below each."""

    def __init__(self, hyper_nodes: Iterable[HyperNode], nodes: Sequence[Node]) -> None:
        self.ready = True
        """Whether the tree can be used: no hypernode has two parents or is in a cycle."""
        self.problem = ""
        """What is wrong with the tree; empty if nothing is."""
        self.tier: dict[str, int] = {}
        """Hypernode → tier."""
        self.tier_names: dict[str, int] = {}
        """Name of a tier → tier."""
        self.children: dict[str, list[str]] = {}
        """Hypernode → the hypernodes directly below it."""
        self.parent: dict[str, str] = {}
        """Hypernode → the hypernode directly above it."""
        self.nodes: dict[str, list[str]] = {}
        """Names of all nodes below each hypernode, sorted."""
        self._lowest: dict[str, str] | None = None
        by_name = {h.name: h for h in sorted(hyper_nodes, key=lambda h: h.name)}
        known = {node.name for node in nodes}
        direct = {name: self._direct_nodes(h, nodes, known) for name, h in by_name.items()}
        for name, hyper_node in by_name.items():
            self.tier[name] = hyper_node.tier
            if hyper_node.tier_name:
                self.tier_names[hyper_node.tier_name] = hyper_node.tier
            self.children[name] = self._child_names(hyper_node, by_name)
        for name in by_name:
            for child in self.children[name]:
                if child in self.parent:
                    self._broken(
                        f"hypernode {child} has two parents, {self.parent[child]} and {name}"
                    )
                self.parent.setdefault(child, name)
        for name in by_name:
            self._collect(name, direct, ())
        self._add_root(nodes)

    def _add_root(self, nodes: Sequence[Node]) -> None:
        tops = [name for name in self.tier if name != ROOT and name not in self.parent]
        highest = max((tier for name, tier in self.tier.items() if name != ROOT), default=0)
        self.tier[ROOT] = highest + 1
        self.children[ROOT] = sorted(tops)
        for top in tops:
            self.parent[top] = ROOT
        self.nodes[ROOT] = sorted(node.name for node in nodes)

    def _broken(self, problem: str) -> None:
        self.ready = False
        self.problem = self.problem or problem

    @staticmethod
    def _child_names(hyper_node: HyperNode, known: Mapping[str, HyperNode]) -> list[str]:
        names = []
        for member in hyper_node.members:
            if member.get("type") == "HyperNode":
                name = (member.get("selector", {}).get("exactMatch") or {}).get("name", "")
                if name in known:
                    names.append(name)
        return sorted(names)

    @staticmethod
    def _direct_nodes(hyper_node: HyperNode, nodes: Sequence[Node], known: set[str]) -> set[str]:
        names: set[str] = set()
        for member in hyper_node.members:
            if member.get("type") != "Node":
                continue
            selector = member.get("selector", {})
            if exact := selector.get("exactMatch"):
                names.update({exact.get("name", "")} & known)
            if regex := selector.get("regexMatch"):
                expression = pattern(regex.get("pattern", ""))
                names |= {node.name for node in nodes if expression.search(node.name)}
            if labels := selector.get("labelMatch"):
                names |= {node.name for node in nodes if matches_selector(labels, node.labels)}
        return names

    def _collect(
        self, name: str, direct: Mapping[str, set[str]], above: tuple[str, ...]
    ) -> set[str]:
        if name in above:
            self._broken(f"hypernodes form a cycle: {' > '.join((*above, name))}")
            return set()
        if name in self.nodes:
            return set(self.nodes[name])
        if len(above) >= _MAX_DEPTH:
            self._broken(f"hypernodes are nested more than {_MAX_DEPTH} deep")
            return set()
        below = set(direct[name])
        for child in self.children[name]:
            below |= self._collect(child, direct, (*above, name))
        self.nodes[name] = sorted(below)
        return below

    def ancestors(self, name: str) -> list[str]:
        """The hypernode itself and everything above it, bottom up."""
        chain: list[str] = []
        while name and name not in chain:
            chain.append(name)
            name = self.parent.get(name, "")
        return chain

    def lowest_common(self, left: str, right: str) -> str:
        """The lowest hypernode above both; an empty name acts as identity."""
        if not left or not right:
            return left or right
        above = set(self.ancestors(left))
        return next((name for name in self.ancestors(right) if name in above), "")

    def lowest_of_node(self, node: str) -> str:
        """The hypernode of the lowest tier that contains the node (the root if no other)."""
        if self._lowest is None:
            self._lowest = {}
            for name in sorted(self.nodes, key=lambda name: (self.tier[name], name)):
                for inside in self.nodes[name]:
                    self._lowest.setdefault(inside, name)
        return self._lowest.get(node, ROOT)

    def lowest_containing(self, nodes: Iterable[str]) -> str:
        """The hypernode of the lowest tier that contains all these nodes; empty for no nodes."""
        wanted = set(nodes)
        if not wanted:
            return ""
        holding = [name for name, inside in self.nodes.items() if wanted <= set(inside)]
        return min(holding, key=lambda name: (self.tier[name], name), default="")
