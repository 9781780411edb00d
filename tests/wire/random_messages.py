"""Messages and damage from a seeded generator, where Hypothesis would be too slow."""

from distributedlog.wire.layout import Array, Blob, Scalar, Struct, Text

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
BITS_UNSIGNED = {"uint16": 16, "uint32": 32}
TEXTS = ["", "a", "orders", "\N{SNOWMAN}", "x" * 127, "y" * 200]
BLOBS = [b"", b"\0", b"payload", b"z" * 127, b"r" * 300]

# What a length or a count may be made of to do harm: huge, negative, null, over-long varints.
POISON = [
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\x00\x00\xff\xff",
    b"\xff\xff",
    b"\x7f\xff",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff" * 10,
    b"\x80\x80\x80\x80\x00",
    b"\xff\x7f",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\x00",
]


def random_message(random, layout):
    """A message with the fields of a layout drawn at random."""
    message = layout.struct()
    for field in (*layout.present, *(field for _, field in layout.tagged)):
        if field.nullable and random.random() < 0.2:
            setattr(message, field.name, None)
        elif random.random() < 0.9 or (getattr(message, field.name) is None and not field.nullable):
            setattr(message, field.name, _random_value(random, field.type))
    return message


def _random_value(random, wire_type):
    match wire_type:
        case Scalar(name=name) if name in BITS:
            return _signed(random, BITS[name])
        case Scalar(name=name) if name in BITS_UNSIGNED:
            return random.getrandbits(BITS_UNSIGNED[name])
        case Scalar(name="bool"):
            return random.random() < 0.5
        case Scalar(name="float"):
            return random.random()
        case Scalar():
            return random.randbytes(16)
        case Text():
            return random.choice(TEXTS)
        case Blob():
            return random.choice(BLOBS)
        case Array(element):
            return [_random_value(random, element) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        case Struct(layout):
            return random_message(random, layout)


def _signed(random, bits):
    if random.random() < 0.5:
        return random.randrange(-1, 10)
    return random.getrandbits(bits) - (1 << (bits - 1))


def damaged(random, data, other):
    """``data`` after one to three random injuries; ``other`` gives the splices."""
    hurt = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(hurt) + 1)
        match random.randrange(7):
            case 0 if hurt:
                hurt[at % len(hurt)] ^= 1 << random.randrange(8)
            case 1 if hurt:
                hurt[at % len(hurt)] = random.getrandbits(8)
            case 2:
                del hurt[at:]
            case 3:
                poison = random.choice(POISON)
                hurt[at : at + len(poison)] = poison
            case 4:
                hurt[at:at] = random.choice(POISON)
            case 5:
                start = random.randrange(len(other) + 1)
                hurt[at:] = other[start:]
            case _:
                del hurt[at : at + random.randrange(1, 9)]
    return bytes(hurt)


def smallest_message(layout):
    """A message that takes as few bytes as can be."""
    message = layout.struct()
    for field in layout.present:
        setattr(message, field.name, None if field.nullable else _smallest_value(field.type))
    return message


def _smallest_value(wire_type):
    match wire_type:
        case Scalar(name="uuid"):
            return bytes(16)
        case Scalar(name="float"):
            return 0.0
        case Scalar():
            return 0
        case Text():
            return ""
        case Blob():
            return b""
        case Array():
            return []
        case Struct(layout):
            return smallest_message(layout)


def crowded_messages(layout, count):
    """For each array, however deep: a message in which it has ``count`` elements of the smallest size."""
    for field in (*layout.present, *(field for _, field in layout.tagged)):
        for value in _crowded_values(field.type, count):
            message = smallest_message(layout)
            setattr(message, field.name, value)
            yield message


def _crowded_values(wire_type, count):
    match wire_type:
        case Struct(layout):
            yield from crowded_messages(layout, count)
        case Array(element):
            yield [_smallest_value(element)] * count
            for value in _crowded_values(element, count):
                yield [value]
