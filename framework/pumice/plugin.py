"""What a plugin author subclasses and decorates."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import pluggy
from pydantic import BaseModel, ConfigDict, model_validator

from pumice.hookspecs import PROJECT
from pumice.shortcuts import Shortcut

if TYPE_CHECKING:
    import numpy as np

    from pumice.config.policy import PluginEntry, Policy
    from pumice.model.task import Task
    from pumice.session.session import Session
    from pumice.verdicts import VoteDetails

API_VERSION = "1.0"
"""Version of the public API. A plugin may declare the one it was written for."""

Scope = Literal["static", "row", "span", "cluster"]
"""How far an answer about a node reaches; see :func:`hookimpl`."""
_F = TypeVar("_F", bound=Callable[..., Any])
_marker = pluggy.HookimplMarker(PROJECT)
SCOPE_ATTRIBUTE = "pumice_scope"


@overload
def hookimpl(function: _F) -> _F: ...
@overload
def hookimpl(*, scope: Scope | Callable[..., Scope] = ...) -> Callable[[_F], _F]: ...
def hookimpl(function: _F | None = None, *, scope: Scope | Callable[..., Scope] = "cluster") -> Any:
    """Mark a method as an implementation of the extension point of the same name.

    ``scope`` is what an answer about nodes depends on, so that it can be cached: ``static`` on the
    task's class and the node's own facts (labels, taints, capacity), ``row`` also on the pods on
    the node, ``cluster`` on anything; the latter is never cached. ``span``, for scores only, is
    ``row`` compared with the other candidate nodes (the fullest gets most): it is cached while
    :meth:`Plugin.span` stays the same. A function ``(plugin, task)`` may give the scope for each
    class of tasks.
    """

    def mark(method: _F) -> _F:
        setattr(method, SCOPE_ATTRIBUTE, scope)
        return _marker(method)

    return mark if function is None else mark(function)


class OptionsModel(BaseModel):
    """Base of plugin and action options: strict about names, lenient about how values are written.

    Give a field an ``alias`` where the option's name is no Python name. ``collected`` maps a
    prefix of option names to the dict field that gathers all of them, for options whose names
    are open (a weight for any resource). ``without_effect`` has the options that are accepted for
    compatibility only: a policy that sets one is warned.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    collected: ClassVar[dict[str, str]] = {}
    """Prefix of option names → the dict field that gathers them."""
    without_effect: ClassVar[frozenset[str]] = frozenset()
    """Names of options that change nothing."""

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not cls.collected:
            return data
        known = {field.alias or name for name, field in cls.model_fields.items()}
        result: dict[str, Any] = {}
        for key, value in data.items():
            prefix = next(
                (p for p in cls.collected if key.startswith(p) and key not in known), None
            )
            if prefix is None:
                result[key] = value
            else:
                gathered = result.setdefault(cls.collected[prefix], {})
                gathered[key.removeprefix(prefix)] = value
        return result


class Plugin:
    """Base of every plugin: subclass it, decorate methods with :func:`hookimpl`.

    A session makes its own instance, so an attribute set on ``self`` lives for one cycle. Build
    it in ``on_session_open``; what ``on_allocate`` changes, ``on_deallocate`` must restore.
    """

    class Options(OptionsModel):
        """The plugin's options; a plugin with options nests a subclass of this name."""

    api_version: ClassVar[str | None] = None
    """The API version that the plugin was written for ("1.0"); checked when given."""
    reads: ClassVar[frozenset[str]] = frozenset()
    """Attributes of a task, beyond request and constraints, that ``static`` and ``row`` answers
    depend on (``labels``, ``annotations``, ``job``, ``queue``, ``role``, …). Tasks that differ in
    one of them are in different classes."""

    provides: ClassVar[frozenset[str]] = frozenset()
    """What the plugin takes care of for the whole policy, so that other plugins need not:
    they ask ``session.provides``. The names are agreed between plugins (``resource_claims``)."""

    beyond_upstream: ClassVar[frozenset[str]] = frozenset()
    """Extension points that its model in Volcano or KAI does not answer: not asked where the
    policy sets ``[evictions] protected = false`` to match upstream."""

    shortcuts: ClassVar[tuple[Shortcut, ...]] = ()
    """Shortcuts that the plugin takes: names to ask ``session.uses`` about (see
    :mod:`pumice.shortcuts`)."""

    name: str
    """The name under which the policy knows this instance."""
    session: Session
    """The session that this instance belongs to."""
    options: Any
    """The options from the policy, an instance of ``Options``."""

    @classmethod
    def cautions(cls, entry: PluginEntry, policy: Policy) -> Iterable[str]:
        """What is doubtful about the plugin's options and its place in a policy.

        ``entry`` is its entry, with its name and options. Called when a policy is loaded; each
        text becomes a warning with the line of the entry.
        """
        return ()

    def __init__(self, session: Session, options: BaseModel, name: str) -> None:
        self.session = session
        self.options = options
        self.name = name

    def class_key(self, task: Task) -> Hashable:
        """What else tasks of one class must have in common, where ``reads`` cannot express it.

        Called once per task, after ``on_session_open``, for plugins with a filter or scorer or
        ``pre_predicate``. Make it coarse: the fewer classes, the more is cached.
        """
        return None

    def static_rejections(self, task: Task) -> np.ndarray | None:
        """Mask over all nodes: those that ``predicate`` rejects for the task's whole class.

        Only nodes that stay rejected whatever is placed or evicted in the cycle; None: not known.
        Such nodes are left out early. Not for plugins that answer ``pre_predicate`` with SKIP.
        """
        return None

    def preemptor_key(self, preemptor: Task) -> Hashable:
        """What ``preemptable`` reads of the preemptor and its job; by default all of it.

        As long as nothing changes in the cluster, the answers for two preemptors with the same key
        must be the same about the same candidates, all of other jobs. Then a victim that was
        refused to one job is not asked about again for every job like it. A ``preemptable`` without
        the argument ``preemptor`` needs no key.
        """
        return preemptor.uid

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        """What the plugin's objection at an extension point is based on; None: it does not object.

        Called when a decision is explained, never in the course of one: ``point`` is the name of
        the extension point and ``args`` are its arguments; where victims are voted on, the last
        one is a list of one candidate. It must change nothing.
        """
        return None

    def span(self, task: Task) -> Hashable:
        """What scores of the scope ``span`` compare a node with: minimum and maximum, for example.

        It may depend on the class of the task and on the node table. Whenever it changes, all
        nodes are scored again by the vector form; as long as it stays, only changed rows are.
        """
        return None

    def __repr__(self) -> str:
        return f"<plugin {self.name}>"
