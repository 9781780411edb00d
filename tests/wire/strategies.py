"""Hypothesis strategies for messages, made from a layout.

``kafka_types`` narrows integers to what an oracle accepts: kio has no int16 where it sees an error code,
and no negative time. It is a description as ``kio_worker.describe`` gives it, or None.
"""

from hypothesis import strategies as st

from distributedlog.wire.layout import Array, Blob, Scalar, Struct, Text

INTEGERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
}
SCALARS = INTEGERS | {
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "uuid": st.binary(min_size=16, max_size=16),
}
TEXTS = st.text(max_size=12) | st.sampled_from(["", "topic-\N{SNOWMAN}", "x" * 126, "y" * 127, "z" * 300])
BLOBS = st.binary(max_size=12) | st.sampled_from([b"", b"x" * 126, b"y" * 127, b"z" * 20_000])
NARROWED = {
    "error_code": st.integers(-1, 133),
    "timedelta_i32": INTEGERS["int32"],
    "timedelta_i64": st.integers(-(10**13), 10**13),
    "datetime_i64": st.integers(0, 10**13),
}
ARRAY_SIZE_MAX = 3


def messages(layout, kafka_types=None):
    """Messages of a layout; what the version lacks has its default."""
    described = {} if kafka_types is None else kafka_types
    in_order = iter([row for row in described if row[1] is None])
    by_tag = {row[1]: row for row in described if row[1] is not None}
    values = {}
    for field in layout.present:
        values[field.name] = _values(field, next(in_order, None))
    for tag, field in layout.tagged:
        values[field.name] = _values(field, by_tag.get(tag))
    struct = layout.struct
    return st.fixed_dictionaries(values).map(lambda chosen: struct(**chosen))


def _values(field, row):
    kafka_type = None if row is None else row[2]
    values = _of_type(field.type, kafka_type)
    if kafka_type == "datetime_i64" and row[4]:
        values |= st.just(-1)
    return st.none() | values if field.nullable else values


def _of_type(wire_type, kafka_type):
    match wire_type:
        case Scalar(name=name):
            if isinstance(kafka_type, str) and kafka_type in NARROWED:
                return NARROWED[kafka_type]
            return SCALARS[name]
        case Text():
            return TEXTS
        case Blob():
            return BLOBS
        case Array(element):
            return st.lists(_of_type(element, kafka_type), max_size=ARRAY_SIZE_MAX)
        case Struct(layout):
            return messages(layout, kafka_type)
