"""[io] A running pipeline's door: HTTP for Prometheus, for `dlog pipeline status`, and for queries.

/metrics        the figures, as Prometheus reads them
/status         the same as JSON
/query?key=K    the latest value of a key, where the pipeline is a `materialize`
/healthz        200 as long as the query runs, else 503
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.metrics import CONTENT_TYPE, prometheus_page
from distributedlog.pipelines.progress import RUNNING, STARTING, Status

JSON: Final = "application/json"
#: From a key to what the table says of it, as JSON can; None where the table has nothing.
Query = Callable[[str], "dict[str, Any] | None"]


class Door:
    """Serves from a thread of its own until it is closed."""

    def __init__(self, address: str, name: str, status: Callable[[], Status], query: Query | None) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise PipelineError(f"[run] metrics: {address!r} is not HOST:PORT")
        self._name, self._status, self._query = name, status, query
        try:
            self._server = ThreadingHTTPServer((host, int(port)), self._handler())
        except OSError as error:
            raise PipelineError(f"[run] metrics: {address} cannot be listened on: {error.strerror}") from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="pipeline-door", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, target: str) -> tuple[int, str, str]:
        """Status code, content type and body for a path."""
        url = urlsplit(target)
        if url.path == "/metrics":
            return 200, CONTENT_TYPE, prometheus_page(self._name, self._status())
        if url.path == "/status":
            return 200, JSON, json.dumps(self._status().as_json())
        if url.path == "/healthz":
            is_well = self._status().state in {RUNNING, STARTING}
            return (200 if is_well else 503), JSON, json.dumps({"state": self._status().state})
        if url.path == "/query" and self._query is not None:
            return self._answer_query(parse_qs(url.query, keep_blank_values=True).get("key", []))
        return (
            404,
            JSON,
            json.dumps({"error": "there are /metrics, /status, /healthz and, of tables, /query"}),
        )

    def _answer_query(self, keys: list[str]) -> tuple[int, str, str]:
        if len(keys) != 1:
            return 400, JSON, json.dumps({"error": "give one key: /query?key=K"})
        assert self._query is not None
        try:
            found = self._query(keys[0])
        except PipelineError as error:
            return 503, JSON, json.dumps({"error": str(error)})
        if found is None:
            return 404, JSON, json.dumps({"error": "no such key", "key": keys[0]})
        return 200, JSON, json.dumps(found)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, content_type, body = door.answer(self.path)
                content = body.encode()
                self.send_response(code)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Who asks is nobody's business."""

        return Handler
