"""Public traces: openb, Philly, the Standard Workload Format, Pollux."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pumice.model.facts import Node
from pumice.model.resources import Resource
from pumice.traces.reader import (
    ReadProblems,
    TraceReader,
    csv_rows,
    number,
    read_text,
    whole,
)
from pumice.traces.trace import (
    MAX_PODS,
    WHOLE_GPU_MILLI,
    Trace,
    TraceJob,
    gang_of,
    node_scalars,
)

_MIB = 1 << 20


def _has_columns(head: str, *columns: str) -> bool:
    header = [name.strip() for name in head.partition("\n")[0].split(",")]
    return all(name in header for name in columns)


class OpenbReader(TraceReader):
    """Alibaba's openb pod list (cluster-trace-gpu-v2023): every pod is a job, its QoS the queue."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        return _has_columns(head, "name", "num_gpu", "gpu_milli", "creation_time")

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        needed = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time")
        for line, row in csv_rows(text, (*needed, "deletion_time"), problems):
            try:
                created = number(row, "creation_time")
                start = number(row, "scheduled_time", created)
                gpus = whole(row, "num_gpu")
                milli = whole(row, "gpu_milli") if gpus else 0
                if milli > WHOLE_GPU_MILLI or (milli < WHOLE_GPU_MILLI and gpus > 1):
                    raise ValueError(
                        f"gpu_milli is {milli} with num_gpu {gpus}, should be 1000 or, "
                        "for one GPU, less"
                    )
                trace.jobs.append(
                    TraceJob(
                        row["name"],
                        created,
                        max(number(row, "deletion_time") - start, 1.0),
                        queue=row.get("qos") or "default",
                        cpu=number(row, "cpu_milli"),
                        memory=number(row, "memory_mib") * _MIB,
                        gpus=gpus * WHOLE_GPU_MILLI if milli >= WHOLE_GPU_MILLI else milli,
                        models=tuple(filter(None, (row.get("gpu_spec") or "").split("|"))),
                    )
                )
            except ValueError as error:
                problems.add(line, str(error))
        return trace


class PhillyReader(TraceReader):
    """Microsoft's Philly jobs as a CSV file; virtual clusters are queues, nodes are filled."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        return _has_columns(head, "timestamp", "duration", "num_gpus", "cluster")

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        columns = ("timestamp", "duration", "num_gpus", "cluster")
        for line, row in csv_rows(text, columns, problems):
            try:
                submitted = _local_time(row, "timestamp")
                pods, each = gang_of(whole(row, "num_gpus"))
                trace.jobs.append(
                    TraceJob(
                        f"job-{line}",
                        (submitted - _PHILLY_EPOCH).total_seconds(),
                        max(number(row, "duration"), 1.0),
                        queue=row["cluster"] or "default",
                        pods=pods,
                        cpu=4000.0 * max(each, 1),
                        memory=16384.0 * _MIB * max(each, 1),
                        gpus=each * WHOLE_GPU_MILLI,
                    )
                )
            except ValueError as error:
                problems.add(line, str(error))
        return trace


_PHILLY_EPOCH = datetime(2017, 1, 1)


def _local_time(row: Mapping[str, str], column: str) -> datetime:
    """A date and time without a zone.

    :raises ValueError: it is none; the text names the column.
    """
    try:
        time = datetime.fromisoformat(row[column])
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None:
        raise ValueError(f"{column} is {row[column]!r}, should be like 2017-10-09 07:01:55")
    return time


class SwfReader(TraceReader):
    """The Standard Workload Format of the Parallel Workloads Archive: one processor is one CPU."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        lines = [line for line in head.splitlines()[:-1] or head.splitlines() if line.strip()]
        data = [line.split() for line in lines if not line.lstrip().startswith(";")]
        return len(data[0]) == 18 if data else bool(lines)

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        for line, content in enumerate(text.splitlines(), 1):
            fields = content.split()
            if not fields or fields[0].startswith(";"):
                continue
            try:
                if len(fields) != 18:
                    raise ValueError(f"{len(fields)} fields, not 18")
                values = [float(field) for field in fields]
                processors = int(values[7] if values[7] > 0 else values[4])
                if values[3] <= 0 or processors <= 0:
                    raise ValueError("no run time or no processors: the job never ran")
                # Requested memory is in KiB per processor, -1 where it is not known.
                memory = values[9] * 1024 if values[9] > 0 else 0.0
                trace.jobs.append(
                    TraceJob(
                        f"job-{int(values[0])}",
                        max(values[1], 0.0),
                        values[3],
                        queue=f"queue-{int(values[14])}" if values[14] >= 0 else "default",
                        pods=processors,
                        cpu=1000.0,
                        memory=memory,
                    )
                )
            except ValueError as error:
                problems.add(line, str(error))
        return trace


_POLLUX_SECONDS = {
    "cifar10": 1800.0,
    "ncf": 900.0,
    "deepspeech2": 5400.0,
    "bert": 7200.0,
    "yolov3": 14400.0,
    "imagenet": 43200.0,
}
"""How long jobs of the applications are taken to run; the workloads do not say."""


class PolluxReader(TraceReader):
    """The workloads of Pollux: replicas with a GPU each; run times are typical ones."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        return _has_columns(head, "name", "time", "application", "num_replicas")

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        columns = ("name", "time", "application", "num_replicas")
        for line, row in csv_rows(text, columns, problems):
            try:
                application = row["application"]
                if application not in _POLLUX_SECONDS:
                    known = ", ".join(_POLLUX_SECONDS)
                    raise ValueError(f"application is {application!r}, known are {known}")
                trace.jobs.append(
                    TraceJob(
                        row["name"],
                        number(row, "time"),
                        _POLLUX_SECONDS[application],
                        queue=application,
                        pods=max(whole(row, "num_replicas"), 1),
                        cpu=4000.0,
                        memory=16384.0 * _MIB,
                        gpus=WHOLE_GPU_MILLI,
                    )
                )
            except ValueError as error:
                problems.add(line, str(error))
        return trace


def read_openb_nodes(path: str, label: str) -> list[Node]:
    """The nodes of an openb node list; ``label`` is where their GPU model goes.

    :raises TraceError: it cannot be read, or a row is malformed.
    """
    text = read_text(path)
    problems = ReadProblems(path, skip=False)
    nodes = []
    for line, row in csv_rows(text, ("sn", "cpu_milli", "memory_mib", "gpu"), problems):
        try:
            gpus = whole(row, "gpu")
            amounts = Resource(
                number(row, "cpu_milli"),
                number(row, "memory_mib") * _MIB,
                node_scalars(gpus),
            )
        except ValueError as error:
            problems.add(line, str(error))
            continue
        labels = {"nvidia.com/gpu.memory": "1000", label: row.get("model") or ""} if gpus else {}
        nodes.append(Node(row["sn"], amounts, amounts, max_pods=MAX_PODS, labels=labels))
    return nodes
