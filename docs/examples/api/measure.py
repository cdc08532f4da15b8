"""A format of traces and a measure of one's own."""

from collections.abc import Mapping

from pumice.measures import Measure
from pumice.simulation import Record
from pumice.traces import ReadProblems, Trace, TraceJob, TraceReader


class Minutes(TraceReader):
    """Lines of three numbers: minute of submission, minutes to run, GPUs."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        return name.endswith(".minutes")

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                submitted, length, gpus = map(int, line.split())
            except ValueError:
                problems.add(number, f"{line!r} is not three numbers")
                continue
            job = TraceJob(f"job-{number}", submitted * 60, length * 60, gpus=gpus * 1000)
            trace.jobs.append(job)
        return trace


class LateStarts(Measure):
    """The share of jobs that waited an hour or more for their start."""

    def figures(self, record: Record) -> Mapping[str, float]:
        delays = [job.delay for job in record.jobs if job.delay is not None]
        return {"": sum(delay >= 3600 for delay in delays) / len(delays) if delays else 0.0}
