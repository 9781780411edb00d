"""[io] The topics that a pipeline writes to: made before the first batch, compacted where results change."""

import asyncio
from typing import TYPE_CHECKING, Final

from distributedlog.client import BrokerError, ClientError, ClientSettings, ClusterClient
from distributedlog.client.topics import BROKERS_DEFAULT, create_topic
from distributedlog.pipelines.errors import PipelineError
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.pipelines.spec import PipelineSpec

PATIENCE_MS: Final = 20_000
_COMPACTED: Final = {"cleanup.policy": "compact"}


def make_topics(spec: "PipelineSpec") -> list[str]:
    """Make those that are missing; returns their names. Topics that are there stay as they are."""
    wanted = topics_of(spec)
    if not wanted or spec.sink["kafka"]:  # settings of a secured cluster: its topics are its owner's business
        return []
    try:
        return asyncio.run(_make(spec, wanted))
    except ClientError as error:
        raise PipelineError(f"{error}. Is a broker running at {spec.bootstrap}?") from None


def topics_of(spec: "PipelineSpec") -> list[str]:
    last = spec.steps[-1]
    if last.step.name == "validate":
        return [last.arguments["topic"], last.arguments["dead_letter_topic"]]
    return [spec.sink["topic"]] if spec.sink["topic"] else []


async def _make(spec: "PipelineSpec", wanted: list[str]) -> list[str]:
    is_compacted = spec.emits_changes if spec.sink["compacted"] is None else spec.sink["compacted"]
    settings = ClientSettings(request_timeout_ms=PATIENCE_MS, default_api_timeout_ms=PATIENCE_MS)
    made = []
    async with ClusterClient(spec.bootstrap, settings) as client:
        there = {topic.name for topic in await client.all_topics()}
        for name in wanted:
            if name in there:
                continue
            try:
                await create_topic(
                    client,
                    name,
                    partitions=spec.sink["partitions"] or BROKERS_DEFAULT,
                    configs=_COMPACTED if is_compacted else None,
                )
            except BrokerError as error:
                if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
            else:
                made.append(name)
                await client.topics([name])
    return made
