import contextlib
import gzip
import struct
import subprocess
import sys
import textwrap
import tracemalloc

import cramjam
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.records import Compression, CorruptBatchError, compress, decompress

XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
COMPRESSING = [codec for codec in Compression if codec]
PYARROW_NAMES = {Compression.GZIP: "gzip", Compression.LZ4: "lz4", Compression.ZSTD: "zstd"}

data = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda block, times: block * times, st.binary(max_size=30), st.integers(0, 5000)),
)


def xerial(*blocks):
    return XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def raw_snappy(content):
    return bytes(cramjam.snappy.compress_raw(content))


@given(data, st.sampled_from(Compression))
def test_what_is_compressed_comes_back(content, codec):
    for kind in (bytes, bytearray, memoryview):
        compressed = compress(codec, kind(content))
        assert type(compressed) is bytes
        assert decompress(codec, kind(compressed)) == content
        assert type(decompress(codec, kind(compressed))) is bytes


@given(data, st.sampled_from(list(PYARROW_NAMES)))
def test_pyarrow_reads_ours_and_we_read_pyarrows(content, codec):
    theirs = pyarrow.Codec(PYARROW_NAMES[codec])
    ours = compress(codec, content)
    if content:
        assert theirs.decompress(ours, len(content), asbytes=True) == content
    assert decompress(codec, theirs.compress(content, asbytes=True)) == content


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_levels(codec):
    content = b"".join(b"%d" % (number * number) for number in range(20_000))
    sizes = {len(compress(codec, content, level)) for level in (1, 9)}
    assert len(sizes) == 2
    assert decompress(codec, compress(codec, content, 9)) == content


@pytest.mark.parametrize("codec", COMPRESSING)
def test_output_of_any_size_fits(codec):
    """Also where the first buffer is too small, and where the output fills a buffer to the last byte."""
    for size in (0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**17, 2**17 + 1, 2**20, 3_000_000):
        compressed = compress(codec, bytes(size))
        assert decompress(codec, compressed) == bytes(size)
        assert decompress(codec, compressed, size) == bytes(size)
        if size:
            with pytest.raises(CorruptBatchError, match="expands to"):
                decompress(codec, compressed, size - 1)


def test_without_compression_there_is_a_cap_too():
    assert decompress(Compression.NONE, b"abc", 3) == b"abc"
    with pytest.raises(CorruptBatchError, match="3 bytes, 2 are allowed"):
        decompress(Compression.NONE, b"abc", 2)


@pytest.mark.parametrize("codec", [-1, 5, 6, 7, 100])
def test_an_unknown_codec(codec):
    with pytest.raises(CorruptBatchError, match=f"compression {codec}"):
        decompress(codec, b"")
    with pytest.raises(ValueError, match=f"compression {codec}"):
        compress(codec, b"")


class TestLz4:
    @pytest.mark.parametrize("size", [0, 100, 64 * 1024, 1_000_000])
    def test_blocks_are_independent_because_java_refuses_linked_ones(self, size):
        frame = compress(Compression.LZ4, bytes(range(256)) * (size // 256 + 1))
        assert frame[:4] == bytes.fromhex("04224d18")
        assert frame[4] >> 6 == 1, "version"
        assert frame[4] & 0x20, "independent blocks"

    def test_linked_blocks_of_others_are_read(self):
        content = bytes(range(256)) * 1000
        linked = bytes(cramjam.lz4.compress(content))
        assert not linked[4] & 0x20
        assert decompress(Compression.LZ4, linked) == content


class TestSnappy:
    def test_is_written_in_xerial_framing(self):
        content = bytes(range(256)) * 300
        framed = compress(Compression.SNAPPY, content)
        blocks = [content[start : start + 32768] for start in range(0, len(content), 32768)]
        assert framed == xerial(*map(raw_snappy, blocks))

    def test_nothing_is_a_header_without_blocks(self):
        assert compress(Compression.SNAPPY, b"") == XERIAL_HEADER

    @given(data)
    def test_raw_blocks_are_read(self, content):
        assert decompress(Compression.SNAPPY, raw_snappy(content)) == content

    @given(st.lists(data, max_size=4))
    def test_blocks_of_any_size_are_read(self, blocks):
        assert decompress(Compression.SNAPPY, xerial(*map(raw_snappy, blocks))) == b"".join(blocks)

    def test_other_versions_of_the_framing_are_read(self):
        framed = bytearray(xerial(raw_snappy(b"abc")))
        framed[8:16] = struct.pack(">ii", 9, 1)
        assert decompress(Compression.SNAPPY, framed) == b"abc"

    def test_the_cap_is_on_the_sum_of_the_blocks(self):
        framed = xerial(raw_snappy(bytes(100)), raw_snappy(bytes(100)))
        assert decompress(Compression.SNAPPY, framed, 200) == bytes(200)
        with pytest.raises(CorruptBatchError, match="99 are allowed"):
            decompress(Compression.SNAPPY, framed, 199)

    @pytest.mark.parametrize(
        ("damaged", "message"),
        [
            (XERIAL_HEADER[:8], "ends inside its header"),
            (XERIAL_HEADER[:15], "ends inside its header"),
            (XERIAL_HEADER + b"\0", "where 0 are left|damaged"),
            (XERIAL_HEADER + b"\0\0\0\1", "where 0 are left"),
            (XERIAL_HEADER + b"\xff\xff\xff\xff" + bytes(9), "where 9 are left"),
            (xerial(raw_snappy(b"abc")[:-1]), "damaged snappy"),
            (xerial(b"\xff\xff\xff\xff\xff\xff"), "damaged snappy"),
            (b"\xff\xff\xff\xff\x0f", "expands to 4294967295"),
            (b"\x80\x80\x80\x01", "cannot expand to 2097152"),
            (b"\xf0", "damaged snappy"),
        ],
    )
    def test_damage(self, damaged, message):
        with pytest.raises(CorruptBatchError, match=message):
            decompress(Compression.SNAPPY, damaged)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_damage(codec):
    content = b"".join(b"%d" % (number * number) for number in range(2_000))
    compressed = compress(codec, content)
    for cut in range(0, len(compressed), 7):
        with contextlib.suppress(CorruptBatchError):
            assert decompress(codec, compressed[:cut]) != content
    for position in range(0, len(compressed), 5):
        damaged = bytearray(compressed)
        damaged[position] ^= 0x41
        with contextlib.suppress(CorruptBatchError):
            decompress(codec, damaged)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_what_is_cut_short_or_no_frame_at_all_is_damaged(codec):
    compressed = compress(codec, b"content" * 100)
    for damaged in (compressed[:-1], compressed[: len(compressed) // 2], b"", b"\0", b"no frame at all"):
        with pytest.raises(CorruptBatchError, match=f"damaged {codec.name.lower()} data"):
            decompress(codec, damaged)


def test_gzip_of_several_members_is_read():
    assert decompress(Compression.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_bomb_takes_no_more_than_the_cap(codec):
    bomb = compress(codec, bytes(2**26))
    cap = 2**20
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBatchError, match="expands to"):
            decompress(codec, bomb, cap)
        # the copy of the input, where there is one, and the output of one size and of half of it
        assert tracemalloc.get_traced_memory()[1] < len(bomb) + 2 * cap + 2**16
    finally:
        tracemalloc.stop()


def test_bombs_do_not_touch_more_memory_inside_the_codecs_either():
    """Python's own accounting does not see what compiled codecs allocate; a limit of the process does."""
    program = textwrap.dedent("""
        import resource, sys
        import cramjam
        from distributedlog.records import Compression, CorruptBatchError, compress, decompress
        content = bytes(2**28)
        bombs = {codec: compress(codec, content) for codec in list(Compression)[1:]}
        streaming = cramjam.zstd.Compressor(19)
        streaming.compress(content)
        bombs["zstd without a size"] = bytes(streaming.finish())
        del content, streaming
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 160 * 2**20, resource.RLIM_INFINITY))
        try:
            bytearray(2**28)
        except MemoryError:
            print("the limit holds")
        for name, bomb in bombs.items():
            try:
                decompress(Compression.ZSTD if isinstance(name, str) else name, bomb, 2**23)
            except CorruptBatchError as error:
                print(name, error)
    """)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    first, *others = result.stdout.splitlines()
    assert first == "the limit holds"
    assert len(others) == 5
    assert all("expands to" in line for line in others), result.stdout
