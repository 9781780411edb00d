"""One JSON object a line: what `--json` prints, and what `dlog produce --json` reads back."""

import base64
import binascii
import json
import sys
from typing import Final

BASE64: Final = "base64"


def print_json(**content: object) -> None:
    """Names in the order given. Written at once where someone watches, else by the buffer."""
    text = json_text(content)
    is_encodable = text.isascii() or sys.stdout.encoding.lower().replace("-", "") == "utf8"
    sys.stdout.write((text if is_encodable else json.dumps(content)) + "\n")


def json_text(content: object) -> str:
    """Letters of every script stand as they are, except beside something that may steer a terminal."""
    text = json.dumps(content, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(content).replace("\x7f", "\\u007f")


def json_of_bytes(data: bytes | None) -> object:
    """UTF-8 stands as text, other bytes as ``{"base64": …}``, null as null."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {BASE64: base64.b64encode(data).decode()}


def bytes_of_json(content: object) -> bytes | None:
    """The reverse of `json_of_bytes`; any other JSON stands for its own compact text."""
    if content is None:
        return None
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, dict) and len(content) == 1 and isinstance(content.get(BASE64), str):
        try:
            return base64.b64decode(content[BASE64], validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"{content[BASE64]!r} is not base64: {error}") from None
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
