"""What the differential tests of record batches feed to both sides."""

from hypothesis import strategies as st

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1

timestamps = st.one_of(
    st.integers(-(2**61), 2**61),
    st.integers(1_700_000_000_000, 1_700_000_020_000),
    st.sampled_from([-1, 0, 1]),
)
# Sizes on both sides of where a length needs one byte more.
blobs = st.one_of(
    st.binary(max_size=20),
    st.builds(
        lambda size, byte: bytes([byte]) * size, st.sampled_from([63, 64, 8191, 8192]), st.integers(0, 255)
    ),
)
nullable_blobs = st.one_of(st.none(), blobs)
headers = st.lists(st.tuples(st.text(max_size=8), nullable_blobs), max_size=3).map(tuple)
records = st.lists(st.tuples(timestamps, nullable_blobs, nullable_blobs, headers), min_size=1, max_size=8)

# (producer id, producer epoch, base sequence, transactional): none, idempotent, transactional
producers = st.one_of(
    st.just((-1, -1, -1, False)),
    st.tuples(st.integers(0, INT64_MAX), st.integers(0, 2**15 - 1), st.integers(0, INT32_MAX), st.booleans()),
)
