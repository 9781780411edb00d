"""Every API, version and direction against kio: the same bytes, the same message, the same nulls."""

import pytest
from hypothesis import given, settings
from tests.wire.strategies import messages
from tests.wire.trees import tree_of

from distributedlog.wire.apis import APIS
from distributedlog.wire.layout import Array, Struct

EVERY_CODEC = [
    pytest.param(api, version, direction, id=f"{api.name}-{version}-{direction}")
    for api in APIS.values()
    for version in api.versions
    for direction in ("request", "response")
]

# kio takes null for "all zero" in these types, so that it declares them optional where Kafka does not.
NULL_MEANS_ZERO = {"uuid", "datetime_i64"}


def codec_of(api, version, direction):
    return getattr(api, direction)(version)


def assert_same_nulls(layout, described, path):
    in_order = [row for row in described if row[1] is None]
    by_tag = {row[1]: row for row in described if row[1] is not None}
    assert len(in_order) == len(layout.present), f"{path}: kio has the fields {in_order}"
    assert sorted(by_tag) == [tag for tag, _ in layout.tagged], path
    pairs = list(zip(layout.present, in_order, strict=True))
    pairs += [(field, by_tag[tag]) for tag, field in layout.tagged]
    for field, (name, _, inner, is_array, is_optional) in pairs:
        where = f"{path}.{field.name} ({name} in kio)"
        assert isinstance(field.type, Array) == is_array, where
        if inner not in NULL_MEANS_ZERO if isinstance(inner, str) else True:
            assert field.nullable == is_optional, where
        element = field.type.element if isinstance(field.type, Array) else field.type
        assert isinstance(element, Struct) == isinstance(inner, list), where
        if isinstance(element, Struct):
            assert_same_nulls(element.layout, inner, where)


@pytest.mark.parametrize(("api", "version", "direction"), EVERY_CODEC)
def test_fields_tags_and_nulls_are_those_of_kio(kio, api, version, direction):
    codec = codec_of(api, version, direction)
    assert_same_nulls(codec.layout, kio.describe(api.name, version, direction), api.name)


@pytest.mark.parametrize(("api", "version", "direction"), EVERY_CODEC)
def test_bytes_and_messages_are_those_of_kio(kio, api, version, direction):
    codec = codec_of(api, version, direction)
    described = kio.describe(api.name, version, direction)

    @settings(max_examples=12)
    @given(messages(codec.layout, described))
    def compare(message):
        tree = tree_of(codec.layout, message)
        ours = codec.encode(message)
        theirs, read = kio.encode_and_decode(api.name, version, direction, tree, ours)
        assert ours == theirs
        assert codec.decode(theirs) == (message, len(theirs))
        assert read == (tree, len(ours))

    compare()
