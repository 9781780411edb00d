"""Prometheus' text format, version 0.0.4, by hand: the client library would cost start-up and memory."""

from collections.abc import Iterable, Mapping
from typing import Final

from distributedlog.server.request_metrics import LATENCY_BOUNDS_MS, Latency

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, object]


class Page:
    """Families of samples, in the order in which they were added."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, help_text: str, samples: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, "counter", help_text, samples)

    def gauge(self, name: str, help_text: str, samples: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, "gauge", help_text, samples)

    def histogram(self, name: str, help_text: str, samples: Iterable[tuple[Labels, Latency]]) -> None:
        """Times in seconds, with Prometheus' cumulative buckets."""
        self._head(name, "histogram", help_text)
        for labels, latency in samples:
            total = 0
            for bound, count in zip((*LATENCY_BOUNDS_MS, None), latency.counts, strict=True):
                total += count
                upper = "+Inf" if bound is None else repr(bound / 1000)
                self._lines.append(f"{name}_bucket{_labels({**labels, 'le': upper})} {total}")
            self._lines.append(f"{name}_sum{_labels(labels)} {latency.sum_ns / 1e9!r}")
            self._lines.append(f"{name}_count{_labels(labels)} {latency.count}")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def _family(self, name: str, kind: str, help_text: str, samples: Iterable[tuple[Labels, float]]) -> None:
        self._head(name, kind, help_text)
        self._lines += [f"{name}{_labels(labels)} {value!r}" for labels, value in samples]

    def _head(self, name: str, kind: str, help_text: str) -> None:
        self._lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(str(value))}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
