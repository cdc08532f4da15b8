"""The tables ``[scheduler]`` and ``[evictions]``: settings of the framework itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from pumice.config.duration import Duration

PREFIX = "PUMICE_SCHEDULER__"


def split_names(value: Any) -> Any:
    """Names separated by commas, as a variable of the environment has them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


class SchedulerSettings(BaseSettings):
    """Settings of the scheduler itself.

    The environment is not read here but with the policy's other overrides, so that a policy means
    the same in a scenario and on every machine.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    period: Duration = Field(1.0, gt=0, description="Time from one cycle to the next.")
    on_plugin_error: Literal["isolate", "raise"] = Field(
        "isolate",
        description="What an error in a plugin stops: the turn of the current job, or all.",
    )
    cycle_deadline: Duration = Field(
        0.0, ge=0, description="Longest time of a cycle; then it ends as decided so far. 0: none."
    )
    set_aside_after: int = Field(
        0,
        ge=0,
        description="A plugin with a fault in so many cycles in a row is left out; 0: never.",
    )
    set_aside_guards: bool = Field(
        False,
        description="Whether that also applies to plugins that can refuse something.",
    )
    default_queue: str = Field("default", description="The queue of jobs that name none.")
    scheduler_names: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_names)] = Field(
        (), description="The schedulerName values of pods to schedule; empty: all pods."
    )
    sharding_mode: Literal["none", "hard", "soft"] = Field(
        "none",
        description="Whether nodes outside the shard are excluded (hard) or used last (soft).",
    )
    shard: str = Field(
        "volcano", description="Name of the NodeShard that lists this scheduler's nodes."
    )
    plain: Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_names)] = Field(
        (), description="Shortcuts to switch off, to find a bug; 'all': every one."
    )
    allowed_distributions: Annotated[
        tuple[str, ...] | None, NoDecode, BeforeValidator(split_names)
    ] = Field(
        None, description="Distributions whose parts may be imported; unset: all installed ones."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class EvictionSettings(BaseModel):
    """What every eviction must satisfy, whichever action decides it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    atomic: bool = Field(
        True,
        description="Evict only by a complete plan: all tasks that the claimant needs are placed,"
        " by room, filters and queue limits, and no gang is left below its minimum.",
    )
    minimal: bool = Field(
        True, description="Spare every victim that a plan does not need, the most important first."
    )
    reserved: bool = Field(True, description="Hold freed resources for the claimant across cycles.")
    monotone: bool = Field(
        True,
        description="A job is never evicted for one that it has taken resources from, and no task"
        " in the cycle in which it was placed.",
    )
    protected: bool = Field(
        True,
        description="Built-in plugins answer `protected`; unset, they only vote, as upstream.",
    )
    reservation: Duration = Field(
        300.0, gt=0, description="How long resources are held for a claimant."
    )
    terminating: Duration = Field(
        0.0,
        ge=0,
        description="How long after its deletion time the resources of a terminating pod are still"
        " counted on; 0: for ever.",
    )
    memory: Duration = Field(
        3600.0,
        ge=0,
        description="How long an eviction is remembered for `monotone` once jobs, queues or nodes"
        " have changed.",
    )

    @classmethod
    def as_upstream(cls) -> EvictionSettings:
        """None of the promises: evictions as Volcano and KAI make them."""
        return cls.model_validate(AS_UPSTREAM)


AS_UPSTREAM = dict.fromkeys(("atomic", "minimal", "reserved", "monotone", "protected"), False)
"""The ``[evictions]`` table of a policy that is to decide as Volcano or KAI do."""


def scheduler_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """The scheduler settings in an environment."""
    source = EnvSettingsSource(SchedulerSettings)
    source.env_vars = {name.lower(): value for name, value in env.items()}
    return source()
