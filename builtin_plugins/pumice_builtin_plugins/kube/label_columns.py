"""Node labels as columns of small integers, to match a selector with all nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pumice import NodeTable
from pumice.kube import matches_expression

_NAME = "metadata.name"


class LabelColumn(NamedTuple):
    """The values of one label: a number for each node, ``missing`` where the node lacks it."""

    ids: np.ndarray
    number_of: dict[str, int]
    missing: int

    @property
    def present(self) -> np.ndarray:
        present: np.ndarray = self.ids != self.missing
        return present

    def where(self, matches: Callable[[str], bool]) -> np.ndarray:
        """Mask over all nodes: those that have the label with a value that matches."""
        lookup = np.fromiter(map(matches, self.number_of), bool, self.missing)
        mask: np.ndarray = np.append(lookup, False)[self.ids]
        return mask

    def one_of(self, values: Any, *, negate: bool = False) -> np.ndarray:
        """Mask over all nodes: those whose value is listed; with ``negate`` all others."""
        lookup = np.full(self.missing + 1, negate)
        for value in values:
            number = self.number_of.get(value)
            if number is not None:
                lookup[number] = not negate
        mask: np.ndarray = lookup[self.ids]
        return mask


class LabelColumns:
    """The label columns of a session, each made on first use."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._make(key)
        return column

    def _make(self, key: str) -> LabelColumn:
        values = [node.labels.get(key) for node in self.table.facts]
        number_of: dict[str, int] = {}
        for value in values:
            if value is not None:
                number_of.setdefault(value, len(number_of))
        missing = len(number_of)
        ids = [missing if value is None else number_of[value] for value in values]
        return LabelColumn(np.array(ids, np.int64), number_of, missing)

    def all(self) -> np.ndarray:
        """A new mask of all nodes."""
        return np.ones(len(self.table), bool)

    def expression(self, expression: Mapping[str, Any]) -> np.ndarray:
        """Mask over all nodes: those whose labels satisfy one match expression."""
        key, operator = expression.get("key", ""), expression.get("operator", "")
        column = self.column(key)
        values = expression.get("values") or ()
        match operator:
            case "In" | "NotIn":
                return column.one_of(values, negate=operator == "NotIn")
            case "Exists":
                return column.present
            case "DoesNotExist":
                return ~column.present
        return column.where(lambda value: matches_expression(expression, {key: value}))

    def field(self, expression: Mapping[str, Any]) -> np.ndarray:
        """The same for a field of the node; Kubernetes knows ``metadata.name`` only."""
        operator = expression.get("operator")
        if expression.get("key") != _NAME or operator not in ("In", "NotIn"):
            return ~self.all()
        negate = operator == "NotIn"
        mask = np.full(len(self.table), negate)
        for name in expression.get("values") or ():
            row = self.table.row_of.get(name)
            if row is not None:
                mask[row] = not negate
        return mask

    def term(self, term: Mapping[str, Any]) -> np.ndarray:
        """Mask over all nodes: those that a node selector term matches; an empty one none."""
        expressions = term.get("matchExpressions") or ()
        fields = term.get("matchFields") or ()
        if not expressions and not fields:
            return ~self.all()
        mask = self.all()
        for expression in expressions:
            mask &= self.expression(expression)
        for expression in fields:
            mask &= self.field(expression)
        return mask

    def selector(self, selector: Mapping[str, Any]) -> np.ndarray:
        """Mask over all nodes: those that any term of a node selector matches."""
        mask = ~self.all()
        for term in selector.get("nodeSelectorTerms") or ():
            mask |= self.term(term)
        return mask

    def labelled(self, labels: Mapping[str, str]) -> np.ndarray:
        """Mask over all nodes: those that have all of these labels."""
        mask = self.all()
        for key, value in labels.items():
            mask &= self.column(key).one_of((value,))
        return mask
