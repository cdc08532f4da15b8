"""Reason codes: the stable names of why a job waits, and what each means."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CODES", "PLACEMENT_CODES", "ReasonCode", "code_of", "progress"]


class ReasonCode(NamedTuple):
    """One reason why a job waits."""

    code: str
    """The stable name."""
    level: str
    """The step of a decision that it belongs to."""
    title: str
    """What it says, in one line."""
    meaning: str
    """What it means and who decides it."""
    remedy: str
    """What changes it."""
    never: bool = False
    """Whether nothing that ends or leaves can help: a request, a limit, a queue, a node or the
    policy must be changed."""
    progress: int = 0
    """How far an evicting action came that ends with this code; 0: not a code of an eviction."""


_ALL = (
    ReasonCode(
        "PluginFault", "policy", "a plugin or an action failed while the job was decided",
        "The job lost its turn, because what a plugin answered could not be used. The reason names"
        " the plugin, its distribution and the line.",
        "Repair or disable the plugin.",
    ),
    ReasonCode(
        "LeftOut", "policy", "the job, or what it needs, could not be read",
        "An object is malformed, names a queue that does not exist, or belongs to another"
        " scheduler; it takes no part in any decision.",
        "Repair the object; the reason names it.", True,
    ),
    ReasonCode(
        "NeedsWholeJobs", "policy", "no action of the policy can place a job of this kind",
        "GPU fractions and topology constraints of KAI's pod groups are placed by actions that"
        " place whole jobs (fair_allocate and the solver's), and the policy runs none.",
        "Add fair_allocate to the actions, or submit the job without the constraint.", True,
    ),
    ReasonCode(
        "FaultyQueueTree", "policy", "the tree of queues is faulty, so that nothing starts",
        "The plugin capacity refuses to start anything while a queue names an unknown parent, there"
        " is no root, or a job is in a queue that has children.",
        "Repair the queues that the reason names.", True,
    ),
    ReasonCode(
        "NotReached", "policy", "the actions of the cycle did not come to the job",
        "No action that places jobs got to it: the policy has none, its queue was served only to a"
        " configured depth, or the cycle ended early.",
        "Check the actions of the policy, queueDepthPerAction and the cycle's deadline.",
    ),
    ReasonCode(
        "Gated", "policy", "scheduling gates hold the job's pods",
        "A pod with spec.schedulingGates is not scheduled until its controller removes them.",
        "Remove the gates, or look at the controller that set them.",
    ),
    ReasonCode(
        "NotEnqueueable", "enqueue gate", "the plugins vote against admitting the job",
        "enqueue asks job_enqueueable once per cycle for each pending job that declares"
        " minResources. A job that is not admitted is seen by no other action: nothing is evicted"
        " for it either.",
        "Wait, lower minResources, raise the queue's quota or overcommit's factor; or leave enqueue"
        " out of the actions, so that evicting actions see the job.",
    ),
    ReasonCode(
        "NotAdmitted", "enqueue gate", "the job has not been admitted into its queue yet",
        "Its pod group is Pending and enqueue has not come to it.",
        "It is decided in the next cycle.",
    ),
    ReasonCode(
        "NotEnoughTasks", "gang", "the gang has fewer pods than its minimum",
        "Fewer pods of the group exist than minAvailable, so that it cannot be reached.",
        "Create the missing pods, or lower minMember.",
    ),
    ReasonCode(
        "NotEnoughPodsOfTask", "gang", "a role or sub-group of the gang has too few pods",
        "minTaskMember or minSubGroups asks for more pods of a role or more sub-groups than exist.",
        "Create the missing pods, or lower the minimum.",
    ),
    ReasonCode(
        "QueueNotOpen", "queue limit", "the queue is not open",
        "Jobs of a queue that is Closed or Closing do not start.",
        "Open the queue, or submit the job to another one.", True,
    ),
    ReasonCode(
        "LimitTooSmall", "queue limit", "the job alone exceeds the limit of its queue",
        "The minimum of the gang is larger than the limit (capability) of its queue or of an"
        " ancestor, even if the queue held nothing else.",
        "Raise the limit, or ask for less.", True,
    ),
    ReasonCode(
        "OverLimit", "queue limit", "the queue would exceed its limit",
        "What the queue, or an ancestor, holds plus what the job asks for exceeds the limit"
        " (capability).",
        "Wait until jobs of the queue end, raise the limit, or ask for less.",
    ),
    ReasonCode(
        "NonPreemptibleOverQuota", "queue limit",
        "a job that cannot be preempted would exceed the quota of its queue",
        "Beyond its quota (deserved) a queue may only hold jobs that others can take back.",
        "Make the job preemptible, raise the quota, or wait.",
    ),
    ReasonCode(
        "QueueShare", "share", "the queue would exceed its share",
        "What the queue holds plus what the task asks for exceeds what the queue deserves.",
        "Wait until jobs of the queue end, raise its weight or deserved amount, or ask for less.",
    ),
    ReasonCode(
        "QueueOverused", "share", "the queue holds all that it deserves, so that it is skipped",
        "allocate and reclaim leave out a queue for which a plugin answers overused.",
        "Wait until jobs of the queue end, or raise its weight or deserved amount.", False, 3,
    ),
    ReasonCode(
        "GangIncomplete", "gang", "only a part of the gang fits, so that none of it starts",
        "Some tasks have a node, but fewer than minAvailable; they were taken back.",
        "Wait, ask for less, or lower minAvailable.",
    ),
    ReasonCode(
        "TopologyDoesNotFit", "gang", "no domain of the topology fits the gang",
        "The tasks must be close together, and no domain has room for all of them.",
        "Wait, or allow a wider domain.",
    ),
    ReasonCode(
        "TooLarge", "nodes", "the job is larger than the nodes, even if they were empty",
        "A task asks for more of a resource than any node has, or the gang for more than all nodes"
        " together.",
        "Ask for less per task, or add larger nodes.", True,
    ),
    ReasonCode(
        "NoNodeMatches", "nodes", "no node satisfies the job's constraints, full or empty",
        "Every node is ruled out by something that no eviction changes: labels, taints, affinity,"
        " volumes, ports of the node itself.",
        "Change the constraint, or label or add nodes.", True,
    ),
    ReasonCode(
        "NodesFull", "nodes", "no node has enough free",
        "Nodes would do, but none has enough free of what a task asks for.",
        "Wait until pods end, ask for less, or let an evicting action make room.",
    ),
    ReasonCode(
        "NodesUnfit", "nodes", "the filters accept no node at the moment",
        "Filters that depend on the pods of a node (anti-affinity, ports, spread, devices) refuse"
        " every node that has room.",
        "Wait until the pods in the way end, or relax the constraint.",
    ),
    ReasonCode(
        "BindRefused", "nodes", "a plugin refused the bind",
        "A node was chosen, and pre_bind of a plugin refused it; it is tried again in the next"
        " cycle.",
        "Look at what the plugin says.",
    ),
    ReasonCode(
        "WaitsForRelease", "nodes", "its room is reserved and is being freed",
        "Pods on the nodes are being evicted or are ending; the job's tasks are pipelined to these"
        " nodes and start when the resources are free.",
        "Nothing to do; look at pods that do not terminate if it takes long.",
    ),
    ReasonCode(
        "NotStarving", "evictions", "the job has its minimum, so that nothing is evicted for it",
        "Evicting actions serve only jobs for which job_starving says yes: with gang, jobs with"
        " fewer tasks ready or pipelined than minAvailable.",
        "Raise minAvailable if the other tasks matter as much, or wait for idle nodes.", False, 1,
    ),
    ReasonCode(
        "NoMoves", "evictions", "moving running tasks together does not make room for it",
        "consolidate evicts only what finds another node. The free resources are too few, or the"
        " tasks in the way cannot move.",
        "Wait, or let another evicting action make room.", False, 1,
    ),
    ReasonCode(
        "NoVictims", "evictions", "there is nothing that could be evicted for it",
        "preempt looks for running preemptable pods of other jobs in the same queue, reclaim for"
        " those of other reclaimable queues. There is none.",
        "Wait; check the preemptable labels of pods and reclaimable of queues.", False, 2,
    ),
    ReasonCode(
        "PreemptionNever", "evictions", "its pods have preemptionPolicy Never",
        "Nothing is evicted for a pod whose priority class or spec says preemptionPolicy: Never.",
        "Use a priority class without it.", False, 9,
    ),
    ReasonCode(
        "NotEntitled", "evictions", "its queue may not take from other queues",
        "reclaim asks preemptive, solve_reclaim can_reclaim_resources: with the job, the queue"
        " would hold more than it deserves.",
        "Raise the queue's weight or deserved amount, or ask for less.", False, 4,
    ),
    ReasonCode(
        "LikeFailed", "evictions", "a job with the same requirements was tried before and failed",
        "The solver's actions try only one of several jobs that ask for the same"
        " (useSchedulingSignatures).",
        "Explain the job that was tried.", False, 5,
    ),
    ReasonCode(
        "NotEnough", "evictions", "evictions would not free enough",
        "Even without every pod that may be evicted, the job would not fit.",
        "Ask for less, or allow more victims.", False, 5,
    ),
    ReasonCode(
        "OverShare", "evictions", "the queue may not hold the job, whatever is evicted",
        "preempt makes room inside a queue. Where the plugins do not let the queue hold the task"
        " even then (allocatable), it evicts nothing.",
        "Raise the queue's weight, deserved amount or limit, or ask for less.", False, 5,
    ),
    ReasonCode(
        "VictimsProtected", "evictions", "the plugins allow no victim that would help",
        "There are candidates, but plugins spare them: by priority, because their gang is at its"
        " minimum, because their queue holds no more than it deserves, and so on. The voters of a"
        " tier must agree; an empty answer vetoes the tier.",
        "See which plugin spares which victim; `pumice config show` has the tiers.", False, 6,
    ),
    ReasonCode(
        "NoPlan", "evictions", "no plan of evictions is possible and allowed",
        "Every combination of victims that the plugins allow either leaves too little for the job"
        " in a simulation, or is refused by a validator for what others would lose.",
        "See which plugin refused; ask for less.", False, 7,
    ),
    ReasonCode(
        "EvictionRefused", "evictions", "the evictions would break a promise of [evictions]",
        "Before evictions are carried out the policy's promises are checked: atomic, minimal,"
        " reserved, monotone, protected.",
        "The reason says which one.", False, 7,
    ),
    ReasonCode(
        "EvictionsUndone", "evictions", "evictions were tried and taken back",
        "They made room for some tasks, but not for the minimum of the gang, so that the statement"
        " was discarded.",
        "Ask for less, or lower minAvailable.", False, 8,
    ),
    ReasonCode(
        "SearchBudgetSpent", "evictions", "the search for victims gave up",
        "The action has a budget of simulations for one job (maxSimulations), and it is used up.",
        "Raise maxSimulations.", False, 8,
    ),
    ReasonCode(
        "ReservationEnded", "evictions", "what was freed for it is no longer held",
        "Evictions made room for the job in an earlier cycle, and something prevented its start.",
        "The reason says what; it is tried again when something changes.",
    ),
    ReasonCode(
        "Evicted", "evictions", "pods of the job were evicted",
        "An action took its place for another job, or to rebalance the cluster.",
        "`pumice explain JOB --eviction` says by whom and under which rule.",
    ),
    ReasonCode(
        "Running", "nodes", "the job has its minimum",
        "At least minAvailable of its tasks run or start now.",
        "Nothing to do.",
    ),
    ReasonCode(
        "Completed", "nodes", "the job has ended",
        "All its tasks have succeeded or failed.",
        "Nothing to do.",
    ),
)  # fmt: skip

CODES: dict[str, ReasonCode] = {code.code: code for code in _ALL}
"""Every reason code by its name."""

PLACEMENT_CODES = frozenset(
    {
        "NodesFull", "NodesUnfit", "GangIncomplete", "QueueShare", "QueueOverused",
        "TopologyDoesNotFit", "NotReached",
    }
)  # fmt: skip
"""Codes that an eviction could have helped with, so that why it did not is the better reason."""


def code_of(name: str) -> ReasonCode | None:
    """A code by its name, letter case aside."""
    return next((code for code in _ALL if code.code.casefold() == name.casefold()), None)


def progress(code: str) -> int:
    """How far an evicting action came that ended with this code."""
    known = CODES.get(code)
    return known.progress if known is not None else 0
