"""Archives: zip and gzip files, and the snapshots that KAI's scheduler writes into them."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Raw

from pumice.errors import ManifestError

_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_MEMBER = "snapshot.json"
_STORAGE, _RESOURCE = "storage.k8s.io/v1", "resource.k8s.io/v1"
SNAPSHOT_KINDS: Mapping[str, tuple[str, str]] = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "configMaps": ("v1", "ConfigMap"),
    "persistentVolumeClaims": ("v1", "PersistentVolumeClaim"),
    "queues": ("scheduling.run.ai/v2", "Queue"),
    "podGroups": ("scheduling.run.ai/v2alpha2", "PodGroup"),
    "bindRequests": ("scheduling.run.ai/v1alpha2", "BindRequest"),
    "topologies": ("kai.scheduler/v1alpha1", "Topology"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "csiStorageCapacities": (_STORAGE, "CSIStorageCapacity"),
    "storageClasses": (_STORAGE, "StorageClass"),
    "csiDrivers": (_STORAGE, "CSIDriver"),
    "resourceClaims": (_RESOURCE, "ResourceClaim"),
    "resourceSlices": (_RESOURCE, "ResourceSlice"),
    "deviceClasses": (_RESOURCE, "DeviceClass"),
}
"""By list of a snapshot: apiVersion and kind of its objects, which need not name them."""


def unpacked(where: str, data: bytes, largest: int) -> bytes:
    """The content of an archive of one file; anything else as it is.

    :raises ManifestError: the archive is damaged, too large, or holds another number of files.
    """
    try:
        if data.startswith(_ZIP):
            archive = zipfile.ZipFile(io.BytesIO(data))
            with archive.open(_member(where, archive)) as file:
                content = file.read(largest + 1)
        elif data.startswith(_GZIP):
            with gzip.open(io.BytesIO(data)) as file:
                content = file.read(largest + 1)
        else:
            return data
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise ManifestError(f"{where}: the archive cannot be read: {error}") from None
    if len(content) > largest:
        raise ManifestError(f"{where}: larger than {largest >> 30} GiB when unpacked")
    return content


def _member(where: str, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    wanted = [name for name in names if name.rpartition("/")[2] == _MEMBER]
    if not wanted and len(names) == 1:
        wanted = names
    if len(wanted) != 1:
        raise ManifestError(
            f"{where}: the archive has {len(names)} files, {len(wanted)} of them {_MEMBER}",
            hint="a snapshot of KAI's scheduler is one file; unpack other archives first",
        )
    return wanted[0]


def snapshot_lists(
    lists: Mapping[str, Sequence[Raw] | None],
) -> Iterator[tuple[str, Raw, tuple[str, str] | None]]:
    """The objects of a snapshot: where each is, its text, and its apiVersion and kind if known."""
    for name, items in lists.items():
        for number, item in enumerate(items or ()):
            yield f"rawObjects.{name}[{number}]", item, SNAPSHOT_KINDS.get(name)
