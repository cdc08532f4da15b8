"""Containment: what a plugin or an action does wrong costs the job at hand and no more.

Plugins are made and opened one by one, an action is run, and a job gets its turn, each so that
whatever is raised ends only that. ``docs/reliability.md`` has the rules.
"""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

from pumice._culprit import job_concerned, place_defined, place_raised
from pumice.combine import Impl, plugin_error
from pumice.errors import NOT_CONTAINED, ActionError, DeadlinePassed, PluginError
from pumice.plugin import Plugin

if TYPE_CHECKING:
    from pumice.action import Action
    from pumice.config import PluginEntry
    from pumice.model.job import Job
    from pumice.session.dispatch import BoundPlugin
    from pumice.session.session import Session


def make_plugins(session: Session) -> list[list[BoundPlugin]]:
    """An instance of each plugin of the policy; one that cannot be made is left out."""
    return [[(entry, _make(session, entry)) for entry in tier] for tier in session.policy.tiers]


def _make(session: Session, entry: PluginEntry) -> Plugin:
    if entry.name not in session.left_out:
        try:
            return entry.cls(session, entry.options, entry.name)
        except BaseException as exc:
            impl = Impl(entry.name, entry.cls, entry.source.label, method=entry.cls.__init__)
            session._leave_out(plugin_error("__init__", impl, exc))
    return Plugin(session, entry.options, entry.name)


def open_plugins(session: Session) -> bool:
    """Call ``on_session_open`` of each plugin; whether one raised and is left out."""
    before = len(session.left_out)
    for tier in session.ask.voters["on_session_open"]:
        for impl, _ in tier:
            started = perf_counter()
            try:
                impl.fn()
            except BaseException as exc:
                error = plugin_error("on_session_open", impl, exc)
                if error.plugin != impl.plugin:  # it asked another plugin, which raised
                    error = PluginError(
                        "on_session_open",
                        impl.plugin,
                        impl.source,
                        exc,
                        place=place_raised(exc) or place_defined(impl.method),
                    )
                    error.__cause__ = exc
                session._leave_out(error)
            session.telemetry.plugins[impl.plugin] = perf_counter() - started
    return len(session.left_out) > before


def run_action(session: Session, action: Action) -> None:
    """Run an action; what it raises ends it, and its open statements are discarded."""
    session.current_action = action.name
    try:
        action.execute(session)
    except NOT_CONTAINED:
        raise
    except BaseException as exc:
        try:
            discard_statements(session, 0)
        except BaseException as failure:
            session._is_broken = True
            session.report(action_error(session, failure))
        if not isinstance(exc, DeadlinePassed) or not session._deadline_reported:
            session.report(action_error(session, exc))


def discard_statements(session: Session, mark: int) -> None:
    """Discard the open statements from a position on, the last first."""
    for statement in reversed(session._open_statements[mark:]):
        statement.discard()


def action_error(session: Session, exc: BaseException, job: Job | None = None) -> PluginError:
    """The error that names the action which raised ``exc``; a PluginError stays as it is."""
    if isinstance(exc, PluginError):
        return exc
    name = session.current_action
    entries = [entry for entry in session.policy.actions if entry.name == name]
    error = ActionError(
        "execute",
        name,
        entries[0].source.label if entries else "local",
        exc,
        place=place_raised(exc),
        job=job_concerned([job]),
    )
    error.__cause__ = exc
    return error


class Turn:
    """The block of :meth:`Session.turn`; a class, because a generator would cost more per job."""

    __slots__ = ("_mark", "_session", "job")

    def __init__(self, session: Session, job: Job | None) -> None:
        self._session = session
        self.job = job
        """The job that is decided about; may be set before the block is entered again."""
        self._mark = len(session._open_statements)

    def __enter__(self) -> None:
        session = self._session
        if session.ledger is not None:
            session.ledger.turn(self.job)
        if session._deadline is not None:
            session._deadline.check()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if self._session.ledger is not None:
            self._session.ledger.turn(None)
        if exc is None or isinstance(exc, (*NOT_CONTAINED, DeadlinePassed, GeneratorExit)):
            return False
        session, job = self._session, self.job
        error = action_error(session, exc, job)
        discard_statements(session, self._mark)
        if job is not None:
            error.job = error.job or job.uid
            job.plugin_errors.append(str(error))
        session.report(error)
        return True
