"""The options of deviceshare, under Volcano's names."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pumice import Plugin


class DeviceShareOptions(Plugin.Options):
    """Which devices are assigned, and how cards are filled."""

    sharing: bool = Field(
        False, alias="deviceshare.GPUSharingEnable", description="Share GPUs by memory."
    )
    number: bool = Field(
        False, alias="deviceshare.GPUNumberEnable", description="Assign whole GPUs."
    )
    virtual: bool = Field(
        False, alias="deviceshare.VGPUEnable", description="Share GPUs through HAMi."
    )
    ascend_mindcluster: bool = Field(
        False,
        alias="deviceshare.AscendMindClusterVNPUEnable",
        description="Not built in: refused when switched on.",
    )
    ascend_hami: bool = Field(
        False,
        alias="deviceshare.AscendHAMiVNPUEnable",
        description="Not built in: refused when switched on.",
    )
    lock: bool = Field(
        False,
        alias="deviceshare.NodeLockEnable",
        description="At most one pod with devices per node and cycle.",
    )
    policy: Literal["", "binpack", "spread"] = Field(
        "",
        alias="deviceshare.SchedulePolicy",
        description="Which virtual GPUs are filled first: the fullest or the emptiest.",
    )
    weight: int = Field(
        0, alias="deviceshare.ScheduleWeight", description="Weight of the score of nodes."
    )
    geometries: str = Field(
        "volcano-vgpu-device-config",
        alias="deviceshare.KnownGeometriesCMName",
        description="Accepted for Volcano's files: MIG geometries are not read.",
    )
    geometries_namespace: str = Field(
        "kube-system",
        alias="deviceshare.KnownGeometriesCMNamespace",
        description="Accepted for Volcano's files: MIG geometries are not read.",
    )
    exclusive: list[dict[str, str]] = Field(
        default_factory=list,
        alias="deviceshare.GPUExclusiveRules",
        description="Labels; two pods that have all labels of one rule never share a card.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        for name in ("ascend_mindcluster", "ascend_hami"):
            if getattr(self, name):
                alias = type(self).model_fields[name].alias
                raise ValueError(f"{alias}: Ascend devices are not built in; leave it off")
        if self.sharing + self.number + self.virtual > 1:
            raise ValueError(
                "only one of deviceshare.GPUSharingEnable, deviceshare.GPUNumberEnable and "
                "deviceshare.VGPUEnable can be on"
            )
        return self
