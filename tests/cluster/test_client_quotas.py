import math

import pytest
from tests.cluster.support import decided

from distributedlog.cluster.client_quotas import ANY, DEFAULT, EXACT, alter_quotas, find_quotas
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.cluster.refused import Refused
from distributedlog.wire import ErrorCode
from distributedlog.wire.k48_describe_client_quotas import DescribeClientQuotasRequest, QuotaFilterComponent
from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaOperation,
)

RATE = "producer_byte_rate"


def alteration(parts, *operations):
    return QuotaAlteration(
        [AlteredQuotaEntity(*part) for part in parts], [QuotaOperation(*each) for each in operations]
    )


def alter(image, *entries, validate_only=False):
    return alter_quotas(image, AlterClientQuotasRequest(list(entries), validate_only))


def refusal(parts, *operations):
    [result], records = alter(EMPTY_IMAGE, alteration(parts, *operations))
    assert records == []
    return ErrorCode(result.error_code)


@pytest.fixture
def image():
    made, results = decided(
        EMPTY_IMAGE,
        alter(
            EMPTY_IMAGE,
            alteration([("user", "u")], (RATE, 10.0), ("request_percentage", 12.5)),
            alteration([("user", None)], (RATE, 20.0)),
            alteration([("client-id", "c"), ("user", "u")], (RATE, 30.0)),
            alteration([("client-id", None)], (RATE, 40.0)),
            alteration([("ip", "10.0.0.1")], ("connection_creation_rate", 5.0)),
        ),
    )
    assert [result.error_code for result in results] == [0] * 5
    return made


def found(image, *components, strict=False):
    request = DescribeClientQuotasRequest([QuotaFilterComponent(*each) for each in components], strict)
    return [
        tuple((part.entity_type, part.entity_name) for part in entry.entity)
        for entry in find_quotas(image, request)
    ]


def test_set_change_and_remove(image):
    assert image.client_quotas[("user", "u"),] == {RATE: 10.0, "request_percentage": 12.5}
    made, _ = decided(image, alter(image, alteration([("user", "u")], (RATE, 11.0))))
    made, _ = decided(made, alter(made, alteration([("user", "u")], ("request_percentage", 0.0, True))))
    assert made.client_quotas[("user", "u"),] == {RATE: 11.0}
    made, _ = decided(made, alter(made, alteration([("user", "u")], (RATE, 0.0, True))))
    assert (("user", "u"),) not in made.client_quotas


def test_removing_what_is_not_set_records_nothing():
    assert alter(EMPTY_IMAGE, alteration([("user", "u")], (RATE, 0.0, True)))[1] == []


def test_validate_only_records_nothing():
    results, records = alter(EMPTY_IMAGE, alteration([("user", "u")], (RATE, 1.0)), validate_only=True)
    assert (results[0].error_code, records) == (0, [])


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("group", "g")],
        [("user", "")],
        [("user", "u"), ("user", "v")],
        [("ip", "1.1.1.1"), ("user", "u")],
        [("ip", "nowhere..")],
    ],
)
def test_entities_that_cannot_be(parts):
    assert refusal(parts, (RATE, 1.0)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "operation",
    [
        ("no_such_rate", 1.0),
        ("connection_creation_rate", 1.0),
        (RATE, 0.0),
        (RATE, -1.0),
        (RATE, 1.5),
        (RATE, math.inf),
        (RATE, math.nan),
        (RATE, 1e30),
    ],
)
def test_quotas_that_cannot_be(operation):
    assert refusal([("user", "u")], (RATE, 1.0), operation) is ErrorCode.INVALID_REQUEST


def test_an_address_has_its_own_quota():
    assert refusal([("ip", "10.0.0.1")], (RATE, 1.0)) is ErrorCode.INVALID_REQUEST


def test_all_quotas(image):
    assert len(found(image)) == 5


def test_an_exact_match_finds_every_entity_with_this_part(image):
    both = (("client-id", "c"), ("user", "u"))
    assert found(image, ("user", EXACT, "u")) == [(("user", "u"),), both]
    assert found(image, ("user", EXACT, "u"), strict=True) == [(("user", "u"),)]
    assert found(image, ("user", EXACT, "u"), ("client-id", EXACT, "c"), strict=True) == [both]
    assert found(image, ("user", EXACT, "v")) == []


def test_the_default_and_any(image):
    assert found(image, ("user", DEFAULT, None)) == [(("user", None),)]
    assert len(found(image, ("user", ANY, None))) == 3
    assert found(image, ("client-id", ANY, None), strict=True) == [(("client-id", None),)]


@pytest.mark.parametrize(
    "components",
    [
        [("", ANY, None)],
        [("user", EXACT, None)],
        [("user", ANY, "u")],
        [("user", 3, None)],
        [("user", ANY, None), ("user", ANY, None)],
        [("user", ANY, None), ("ip", ANY, None)],
    ],
)
def test_questions_that_cannot_be(image, components):
    with pytest.raises(Refused) as refused:
        found(image, *components)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_entities_that_a_later_version_may_know(image):
    with pytest.raises(Refused) as refused:
        found(image, ("team", ANY, None))
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
