"""[pure] Which version of an API to speak: the highest that both sides know (KIP-35)."""

from collections.abc import Mapping

from distributedlog.client.errors import UnsupportedByBroker
from distributedlog.wire import APIS, Api
from distributedlog.wire.k18_api_versions import ApiVersionsResponse

_API_OF_MODULE: Mapping[str, Api] = {api.module: api for api in APIS.values()}


def api_of_request(request: object) -> Api:
    """The API that a request dataclass belongs to: each API has a module of its own."""
    return _API_OF_MODULE[type(request).__module__]


class BrokerVersions:
    """What one broker serves, and which features its cluster has, as its ApiVersions response says."""

    __slots__ = ("features", "ranges")

    def __init__(
        self, ranges: Mapping[int, tuple[int, int]], features: Mapping[str, int] | None = None
    ) -> None:
        self.ranges = dict(ranges)
        self.features = dict(features or {})

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> "BrokerVersions":
        return cls(
            {api.api_key: (api.min_version, api.max_version) for api in response.api_keys},
            {feature.name: feature.max_version_level for feature in response.finalized_features},
        )

    def serves(self, api_key: int) -> bool:
        """Whether there is a version of this API that both sides know."""
        return self._common(APIS[api_key], None) is not None

    def version_for(self, api: Api, version_max: int | None = None) -> int:
        """The highest version that both know, not above `version_max`."""
        version = self._common(api, version_max)
        if version is None:
            offered = self.ranges.get(api.key)
            known = f"this client speaks versions {api.first} to {api.last}"
            if offered is None:
                raise UnsupportedByBroker(f"the broker does not serve {api.name} (API key {api.key})")
            raise UnsupportedByBroker(
                f"the broker serves {api.name} in versions {offered[0]} to {offered[1]}, but {known}"
            )
        return version

    def _common(self, api: Api, version_max: int | None) -> int | None:
        offered = self.ranges.get(api.key)
        if offered is None:
            return None
        highest = min(offered[1], api.last if version_max is None else min(api.last, version_max))
        return highest if highest >= max(offered[0], api.first) else None
