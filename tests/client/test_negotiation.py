"""Choosing a version."""

import pytest

from distributedlog.client import UnsupportedByBroker
from distributedlog.client.negotiation import BrokerVersions, api_of_request
from distributedlog.wire import APIS
from distributedlog.wire.k00_produce import ProduceRequest
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsResponse

METADATA = APIS[3]
PRODUCE = APIS[0]


def test_the_highest_version_that_both_know():
    assert BrokerVersions({3: (0, 99)}).version_for(METADATA) == METADATA.last
    assert BrokerVersions({3: (0, 7)}).version_for(METADATA) == 7
    assert BrokerVersions({3: (0, 99)}).version_for(METADATA, version_max=4) == 4


def test_produce_is_offered_from_zero_but_spoken_from_three():
    """The trap of KAFKA-18659 from the client's side."""
    assert BrokerVersions({0: (0, 13)}).version_for(PRODUCE) == PRODUCE.last
    with pytest.raises(UnsupportedByBroker, match="versions 0 to 2, but this client speaks versions 3 to"):
        BrokerVersions({0: (0, 2)}).version_for(PRODUCE)


def test_an_api_that_is_not_served_is_named():
    versions = BrokerVersions({18: (0, 4)})
    assert not versions.serves(3)
    with pytest.raises(UnsupportedByBroker, match="does not serve metadata"):
        versions.version_for(METADATA)


def test_a_broker_from_the_future_is_refused_with_both_ranges():
    with pytest.raises(UnsupportedByBroker, match="versions 90 to 99"):
        BrokerVersions({3: (90, 99)}).version_for(METADATA)


def test_ranges_come_from_the_response_with_unknown_apis_kept():
    response = ApiVersionsResponse(api_keys=[ApiVersion(3, 0, 12), ApiVersion(9999, 1, 2)])
    assert BrokerVersions.from_response(response).ranges == {3: (0, 12), 9999: (1, 2)}


def test_each_request_knows_its_api():
    assert api_of_request(ProduceRequest()) is PRODUCE
    for api in APIS.values():
        assert api_of_request(api.message_class("Request")()) is api
