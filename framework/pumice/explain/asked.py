"""Which job is meant by what a user types."""

from __future__ import annotations

from difflib import get_close_matches

from pumice.errors import PumiceError
from pumice.explain.explanation import Explanation, Level
from pumice.model.facts import Inventory

_MOST_NEAR = 3


def find_job(inventory: Inventory, asked: str) -> str | None:
    """The uid of the job that is asked for: by its name, or by that of one of its pods.

    None: it is named in the files, but takes no part.

    :raises PumiceError: there is no such job, or the name fits several.
    """
    if asked in inventory.groups:
        return asked
    pods = {pod.key: pod.group for pod in inventory.pods.values()}
    if pods.get(asked):
        return pods[asked] if pods[asked] in inventory.groups else None
    if "/" not in asked:
        found = {uid for uid in inventory.groups if uid.partition("/")[2] == asked}
        found = found or {
            group
            for key, group in pods.items()
            if key.partition("/")[2] == asked and group in inventory.groups
        }
        if len(found) == 1:
            return found.pop()
        if found:
            listed = ", ".join(sorted(found)[:_MOST_NEAR])
            raise PumiceError(
                f"several jobs are named {asked!r}: {listed}", hint="give namespace/name"
            )
    if asked in pods or any(asked in problem.object.split() for problem in inventory.problems):
        return None
    raise PumiceError(f"there is no job {asked!r} in the files", hint=_near(inventory, asked))


def _near(inventory: Inventory, asked: str) -> str:
    known = {uid.casefold(): uid for uid in inventory.groups}
    known |= {uid.partition("/")[2].casefold(): uid for uid in inventory.groups}
    near = get_close_matches(asked.casefold(), known, n=_MOST_NEAR)
    jobs = list(dict.fromkeys(known[name] for name in near))
    if jobs:
        return f"did you mean {' or '.join(jobs)}?"
    if not inventory.groups:
        return "the files have no pod groups and no pending pods of this scheduler"
    listed = ", ".join(sorted(inventory.groups)[:_MOST_NEAR])
    more = len(inventory.groups) - _MOST_NEAR
    return f"the files have {listed}{f' and {more} more' if more > 0 else ''}"


def left_out(inventory: Inventory, asked: str) -> Explanation:
    """The explanation of a job that takes no part in decisions."""
    problems = [str(p) for p in inventory.problems if asked in p.object.split()]
    pod = next((pod for pod in inventory.pods.values() if pod.key == asked), None)
    if problems:
        text = "; ".join(problems)
    elif pod is not None and pod.group:
        text = f"pod {asked} names pod group {pod.group}, which is not in the files"
    elif pod is not None and pod.node_name:
        text = f"pod {asked} has no pod group and runs on {pod.node_name} already"
    elif pod is not None:
        text = f"pod {asked} asks for scheduler {pod.scheduler_name!r}, which is not this one"
    else:
        text = f"{asked} is not among the jobs of the cycle"
    return Explanation(asked, "never", "LeftOut", text, (Level("policy", False, text),))
