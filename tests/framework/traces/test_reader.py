"""Traces: formats are recognised, malformed rows are reported with their line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from pumice.traces import Trace, TraceError, read_trace

PLAIN = """name,submit,duration,queue,pods,cpu,memory,gpus
a,10,60,train,2,4,16Gi,1
b,5,30,test,1,500m,1Gi,0.5
"""
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,"
    "creation_time,deletion_time,scheduled_time\n"
    "p1,4000,1024,1,470,T4|A10,LS,100,400,150\n"
    "p2,4000,1024,2,1000,,BE,90,300,\n"
)
PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,vc1
2017-10-09 07:00:55,100.0,16,1600.0,vc2
"""
POLLUX = """name,time,application,num_replicas,batch_size
cifar10-0,107,cifar10,6,2048
"""
SWF = """; a comment
1 0 10 120 4 -1 -1 4 600 -1 1 3 1 1 2 1 -1 -1
2 30 10 -1 4 -1 -1 4 600 -1 0 3 1 1 2 1 -1 -1
"""


def read(folder: Path, text: str, name: str = "trace.csv", **given: object) -> Trace:
    path = folder / name
    path.write_text(text)
    return read_trace(str(path), **given)  # type: ignore[arg-type]


def test_plain_csv(tmp_path: Path) -> None:
    b, a = read(tmp_path, PLAIN).jobs
    assert (b.name, b.submit, b.gpus, b.cpu) == ("b", 0.0, 500, 500.0)
    assert (a.submit, a.queue, a.pods, a.cpu, a.memory, a.gpus) == (
        5.0, "train", 2, 4000.0, float(16 << 30), 1000,
    )  # fmt: skip
    assert a.minimum == 2


def test_plain_json_lines(tmp_path: Path) -> None:
    job = {"name": "j", "submit": 1, "duration": 5, "pods": 4, "min_pods": 2, "models": ["T4"]}
    (read_job,) = read(tmp_path, json.dumps(job) + "\n", "trace.jsonl").jobs
    assert (read_job.pods, read_job.minimum, read_job.models) == (4, 2, ("T4",))


def test_openb(tmp_path: Path) -> None:
    two, one = read(tmp_path, OPENB).jobs
    assert (one.gpus, one.models, one.duration, one.queue) == (470, ("T4", "A10"), 250.0, "LS")
    assert (two.gpus, two.duration, two.submit) == (2000, 210.0, 0.0)


def test_philly_is_sorted_and_fills_nodes(tmp_path: Path) -> None:
    large, small = read(tmp_path, PHILLY).jobs
    assert (large.pods, large.gpus, large.queue, large.submit) == (2, 8000, "vc2", 0.0)
    assert (small.pods, small.gpus, small.submit) == (1, 1000, 60.0)


def test_pollux(tmp_path: Path) -> None:
    (job,) = read(tmp_path, POLLUX).jobs
    assert (job.pods, job.gpus, job.queue) == (6, 1000, "cifar10")


def test_swf_leaves_out_jobs_that_never_ran(tmp_path: Path) -> None:
    trace = read(tmp_path, SWF, "log.swf")
    (job,) = trace.jobs
    assert (job.name, job.pods, job.duration, job.queue) == ("job-1", 4, 120.0, "queue-2")
    assert "log.swf:3: no run time or no processors" in trace.problems[0]


def test_a_compressed_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(PHILLY.encode()))
    assert len(read_trace(str(path)).jobs) == 2


def test_a_dump_has_jobs_nodes_and_queues(tmp_path: Path) -> None:
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ns"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
            "status": {"phase": "Pending"},
        },
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    trace = read(tmp_path, text, "dump.json", options={"duration": "10m"})
    (job,) = trace.jobs
    assert (job.cpu, job.duration, job.queue) == (2000, 600.0, "default")
    assert [node.name for node in trace.nodes] == ["n"]
    assert [queue.name for queue in trace.queues] == ["default"]


def test_synthetic_jobs_depend_on_the_seed_only() -> None:
    def drawn(seed: str) -> Trace:
        return read_trace("synthetic", options={"jobs": "50", "seed": seed})

    assert drawn("1").jobs == drawn("1").jobs
    assert drawn("1").jobs != drawn("2").jobs
    assert len(drawn("1").jobs) == 50


@pytest.mark.parametrize(
    "row, problem",
    [
        ("c,1,60,q,1,1,1Gi", "7 fields, not 8"),
        ("c,x,60,q,1,1,1Gi,1", "submit is 'x', not a number"),
        ("c,1,0,q,1,1,1Gi,1", "duration is 0"),
        ("c,1,60,q,1.5,1,1Gi,1", "pods is 1.5, not a whole number"),
        ("c,1,60,q,1,one,1Gi,1", "cpu"),
        ("c,1,60,q,1,1,1Gi,1.5", "only a part of one GPU"),
        ("a,1,60,q,1,1,1Gi,1", "there is another job 'a'"),
        ("c,nan,60,q,1,1,1Gi,1", "submit is nan"),
    ],
)
def test_a_malformed_row_is_skipped_or_fatal(tmp_path: Path, row: str, problem: str) -> None:
    trace = read(tmp_path, PLAIN + row + "\n")
    assert len(trace.jobs) == 2
    (message,) = trace.problems
    assert "trace.csv:4: " in message
    assert problem in message
    with pytest.raises(TraceError, match=r"trace\.csv:4: "):
        read(tmp_path, PLAIN + row + "\n", skip_bad_rows=False)


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}c,x,60,q,1,1,1Gi,1\nd,1\n",
        '{"name": "a", "submit": 0, "duration": 9}\n\n\n{"name": "b"}\n{"name"\n',
    ],
)
def test_malformed_rows_are_reported_in_order(tmp_path: Path, text: str) -> None:
    problems = read(tmp_path, text).problems
    assert [re.findall(r":(\d):", problem)[0] for problem in problems] == ["4", "5"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("when,what\n1,2\n", "its format is not recognised; it begins with 'when,what'"),
        ("", "is empty"),
        ("name,submit,duration\n", "there is no job in it"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read(tmp_path, text)


def test_missing_columns_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no column 'duration'"):
        read(tmp_path, "name,submit\n", format_name="plain")
    with pytest.raises(TraceError, match=r"no\.csv: cannot be read: No such file"):
        read_trace(str(tmp_path / "no.csv"))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"job": "5"}, "has no such option"),
        ({"jobs": "x"}, "not a number"),
        ({"load": "0"}, "more"),
    ],
)
def test_wrong_options_of_a_format_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_trace("synthetic", options=options)


def test_public_traces_are_read_whole(shared: Path) -> None:
    traces = shared / "traces"
    philly = read_trace(str(traces / "philly" / "philly.csv.gz"), skip_bad_rows=False)
    assert len(philly.jobs) == 82247
    assert len({job.queue for job in philly.jobs}) == 15
    openb = traces / "openb" / "openb_pod_list_default.csv"
    assert len(read_trace(str(openb), skip_bad_rows=False).jobs) == 8152
    assert len(read_trace(str(traces / "pollux" / "workload-1.csv")).jobs) == 160


@pytest.mark.parametrize("time", ["2017-13-01 10:00:00", "2017-10-01 10:00:00+02:00", "soon"])
def test_a_philly_time_that_is_none_names_its_column(tmp_path: Path, time: str) -> None:
    trace = read(tmp_path, f"{PHILLY}{time},5,1,5,vc1\n")
    assert len(trace.jobs) == 2
    assert f":4: timestamp is {time!r}" in trace.problems[0]


@pytest.mark.parametrize("gpus, milli", [(1, 1500), (2, 500)])
def test_openb_shares_are_of_one_gpu(tmp_path: Path, gpus: int, milli: int) -> None:
    trace = read(tmp_path, f"{OPENB}p3,1,1,{gpus},{milli},,LS,0,9,0\n")
    assert [job.name for job in trace.jobs] == ["p2", "p1"]
    assert f"gpu_milli is {milli} with num_gpu {gpus}" in trace.problems[0]


def test_swf_with_a_malformed_line_is_recognised(tmp_path: Path) -> None:
    trace = read(tmp_path, SWF + "3 a b\n", name="log.swf")
    assert len(trace.jobs) == 1
    assert trace.problems[-1].endswith(":4: 3 fields, not 18")


def test_a_job_of_too_many_pods_is_left_out(tmp_path: Path) -> None:
    text = f"{POLLUX}x,0,bert,999999999,1\n"
    assert "job 'x' has 999999999 pods" in read(tmp_path, text).problems[0]
    with pytest.raises(TraceError, match="999999999 pods"):
        read(tmp_path, text, skip_bad_rows=False)


def test_a_second_job_of_a_name_is_left_out(tmp_path: Path) -> None:
    trace = read(tmp_path, SWF + SWF.splitlines()[1] + "\n")
    assert len(trace.jobs) == 1
    assert any(text.endswith("there is another job 'job-1'") for text in trace.problems)
