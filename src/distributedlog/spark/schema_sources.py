"""[io] Where a schema comes from: its own text, a file, or a schema registry (Confluent's HTTP interface).

Registries are asked from the driver and from the workers; ids never change their meaning, so each process
asks for each id once.
"""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from distributedlog.spark.errors import SparkSourceError

_TIMEOUT_S: Final = 30
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"


class SchemaUnavailable(SparkSourceError):
    """A schema cannot be read: no such file, no such id, nobody answers."""


@dataclass(frozen=True, slots=True)
class Registry:
    """``http://user:password@host:8081``; the user is optional."""

    url: str

    def schema_of_id(self, schema_id: int, *, as_descriptor: bool = False) -> str:
        """The schema's text; of Protobuf schemas the descriptor in base64, which needs no compiler."""
        return _schema_of_id(self.url, schema_id, as_descriptor)

    def latest(self, subject: str, *, as_descriptor: bool = False) -> tuple[int, str]:
        """Id and text of a subject's newest version."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/latest"
        found = _ask(self.url, path + ("?format=serialized" if as_descriptor else ""))
        return int(found["id"]), str(found["schema"])

    def register(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """The id of this schema under the subject; the same schema has the same id each time."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
        body = {"schema": schema} if kind == "AVRO" else {"schema": schema, "schemaType": kind}
        return int(_ask(self.url, path, body)["id"])


@lru_cache(maxsize=1024)
def _schema_of_id(url: str, schema_id: int, as_descriptor: bool) -> str:
    suffix = "?format=serialized" if as_descriptor else ""
    return str(_ask(url, f"/schemas/ids/{schema_id}{suffix}")["schema"])


def _ask(url: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SchemaUnavailable(f"{url!r} is no address of a schema registry; write http://host:8081")
    host = parts.netloc.rpartition("@")[2]
    base = urllib.parse.urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": _CONTENT_TYPE})
    if parts.username is not None:
        user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            found = json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            raise SchemaUnavailable(f"{base}{path} answers {error.code}: {_reason(error)}") from None
    except (OSError, ValueError) as error:
        raise SchemaUnavailable(f"{base} does not answer: {getattr(error, 'reason', error)}") from None
    if not isinstance(found, dict):
        raise SchemaUnavailable(f"{base}{path} answers something else than a schema")
    return found


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)


def schema_text(schema: str | Path) -> str:
    """The text itself, or that of the file which is named."""
    if isinstance(schema, Path) or (schema.strip() and "\n" not in schema and _looks_like_file(schema)):
        try:
            return Path(schema).read_text()
        except OSError as error:
            raise SchemaUnavailable(f"the schema {str(schema)!r} cannot be read: {error.strerror}") from None
    return schema


def _looks_like_file(text: str) -> bool:
    return text.endswith((".avsc", ".json", ".ddl", ".schema")) and text.lstrip()[0] not in '{["'
