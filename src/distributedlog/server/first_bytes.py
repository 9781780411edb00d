"""What came in place of a Kafka request, in words: one line of the log must be enough to find the culprit."""

from typing import Final

_HTTP_METHODS: Final = (
    b"GET ",
    b"POST",
    b"HEAD",
    b"PUT ",
    b"DELE",
    b"OPTI",
    b"PATC",
    b"CONN",
    b"TRAC",
    b"PRI ",
)
_SHOWN_BYTES_MAX: Final = 16


def describe(data: bytes) -> str:
    """Name the protocol that begins like this, or show the bytes."""
    if not data:
        return "nothing"
    if data[0] == 0x16 and data[1:2] in (b"\x03", b""):
        return "a TLS hello, and this listener speaks plain text (security.protocol=PLAINTEXT)"
    if data[:4] in _HTTP_METHODS:
        return "an HTTP request, and this is the port for Kafka clients"
    if data[:4] == b"HTTP":
        return "an HTTP response, and this is the port for Kafka clients"
    if data[:4] == b"SSH-":
        return "an SSH client"
    shown = bytes(data[:_SHOWN_BYTES_MAX])
    return f"the bytes {shown.hex(' ')}{' ...' if len(data) > len(shown) else ''}"
