"""SipHash-2-4-128 against what OpenSSL computes (`openssl mac -macopt size:16 … SipHash`)."""

import numpy as np
import pytest

from distributedlog.records.kernels import BYTES_IN, INT64, kernel
from distributedlog.records.kernels_memory import address_of
from distributedlog.records.kernels_siphash import siphash128


@kernel(BYTES_IN, INT64, INT64)
def hash_of(data, key_low, key_high):
    return siphash128(address_of(data), data.shape[0], key_low, key_high)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "a3817f04ba25a8e66df67214c7550293"),
        (b"\x00", "da87c1d86b99af44347659119b22fc45"),
        (bytes(range(7)), "a1f1ebbed8dbc153c0b84aa61ff08239"),
        (bytes(range(8)), "3b62a9ba6258f5610f83e264f31497b4"),
        (bytes(range(15)), "5493e99933b0a8117e08ec0f97cfc3d9"),
        (bytes(range(16)), "6ee2a4ca67b054bbfd3315bf85230577"),
        (b"a key of thirty-one characters.", "a043d67fa4c14c93e72cb432b94028ce"),
        (b"\xff" * 64, "3631b0c42f4694ccec93b764a4e66f14"),
        (bytes(300), "e180bdaafccfb2ec3d523960cb183021"),
    ],
)
def test_vectors(data, expected):
    key = [int.from_bytes(bytes(part), "little", signed=True) for part in (range(8), range(8, 16))]
    words = hash_of(np.frombuffer(data, np.uint8), *key)
    assert b"".join(word.to_bytes(8, "little", signed=True) for word in words).hex() == expected
