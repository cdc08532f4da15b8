"""The ``[scheduler]`` table: what concerns the cycle and no plugin or action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from pumice.config.duration import Duration

PREFIX = "PUMICE_SCHEDULER__"


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


class SchedulerSettings(BaseSettings):
    """How the scheduler runs, whatever it decides.

    Made from what it is given alone: the environment is read once, with the policy's other
    overrides, so that the same policy means the same in a scenario and on every machine.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    period: Duration = Field(1.0, gt=0, description="Time from one cycle to the next.")
    on_plugin_error: Literal["isolate", "raise"] = Field(
        "isolate",
        description="What a plugin that raises costs: the turn of the job being decided, or all.",
    )
    default_queue: str = Field("default", description="Queue of jobs that name none.")
    scheduler_names: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="The schedulerName values of pods to schedule; empty: all pods."
    )
    sharding_mode: Literal["none", "hard", "soft"] = Field(
        "none", description="Whether nodes outside the shard are barred (hard) or shunned (soft)."
    )
    shard: str = Field("volcano", description="Name of the NodeShard that lists the own nodes.")
    plain: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="Shortcuts to do without, to find a fault; 'all': every one."
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


def scheduler_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """The scheduler settings that the given environment carries."""
    source = EnvSettingsSource(SchedulerSettings)
    source.env_vars = {name.lower(): value for name, value in env.items()}
    return source()
