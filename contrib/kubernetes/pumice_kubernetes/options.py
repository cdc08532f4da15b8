"""The options of the Kubernetes backend."""

from __future__ import annotations

from pydantic import Field

from pumice import Duration, OptionsModel


class KubernetesOptions(OptionsModel):
    """Where the cluster is, and how this scheduler takes part in it."""

    kubeconfig: str = Field(
        "", description="A kubeconfig file; unset: $KUBECONFIG, the pod's own account, ~/.kube."
    )
    context: str = Field("", description="The context of the kubeconfig file; unset: its current.")
    leader_election: bool = Field(
        True, description="Whether a Lease decides which of several replicas acts."
    )
    lease: str = Field("pumice", description="The name of the Lease.")
    lease_namespace: str = Field(
        "", description="The namespace of the Lease; unset: that of the pod or of the context."
    )
    lease_duration: Duration = Field(
        15.0, ge=1, description="How long a leader that is gone is waited for."
    )
    listen: str = Field(
        "", description="host:port of /healthz, /readyz and /metrics; unset: not served."
    )
    idle: Duration = Field(
        30.0, gt=0, description="Longest time from one cycle to the next while jobs wait."
    )
    quiet: Duration = Field(
        300.0, gt=0, description="The same if, besides, no job waits and nothing was decided."
    )
    in_flight: int = Field(64, ge=1, description="How many requests are under way at once.")
    discovery: Duration = Field(
        30.0, gt=0, description="How often is looked which resources the cluster serves."
    )
