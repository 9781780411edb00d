import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from google.protobuf import descriptor_pb2
from pyspark.errors import PythonException

from distributedlog.spark.functions import (
    from_avro,
    from_json,
    from_protobuf,
    to_avro,
    to_json,
    to_protobuf,
)

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
ORDERS = "id BIGINT, note STRING, tags ARRAY<STRING>, at TIMESTAMP"


def descriptor():
    """``Order { int64 id; optional string note; repeated string tags; map<string, int32> counts; }``"""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    text, one, many = 9, 1, 3
    message.field.add(name="id", number=1, type=3, label=one)
    message.field.add(name="note", number=2, type=text, label=one, oneof_index=0, proto3_optional=True)
    message.oneof_decl.add(name="_note")
    message.field.add(name="tags", number=3, type=text, label=many)
    entry = message.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=text, label=one)
    entry.field.add(name="value", number=2, type=5, label=one)
    message.field.add(name="counts", number=4, type=11, label=many, type_name=".shop.Order.CountsEntry")
    return file


@pytest.fixture
def registry():
    """A schema registry with an address of its own, and what was registered in it."""
    schemas = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0].split("/")
            if path[1] == "subjects":
                found = [number for number, (subject, _) in schemas.items() if subject == path[2]]
                self._answer({"id": found[-1], "schema": schemas[found[-1]][1]} if found else None)
            else:
                entry = schemas.get(int(path[3]))
                self._answer(None if entry is None else {"schema": entry[1]})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            schemas[len(schemas) + 1] = (self.path.split("/")[2], body["schema"])
            self._answer({"id": len(schemas)})

        def _answer(self, body):
            data = json.dumps({"message": "not found"} if body is None else body).encode()
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", schemas
        server.shutdown()
        thread.join()


@pytest.fixture
def orders(spark):
    return spark.sql(
        """SELECT named_struct('id', id, 'note', if(id % 2 = 0, NULL, 'n'), 'tags', array('a', 'b'),
        'at', timestamp_millis(1700000000123 + id)) AS o FROM range(5)"""
    ).coalesce(1)


def rows(frame, column):
    return [row[0] for row in frame.orderBy(f"{column}.id").select(column).collect()]


def test_avro_comes_back_as_it_went(orders, tmp_path):
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(AVRO))
    plain = orders.select("o", to_avro("o", file).alias("payload"))
    back = plain.select("o", from_avro("payload", json.dumps(AVRO)).alias("back"))
    assert rows(back, "back") == rows(back, "o")
    assert back.schema["back"].dataType["id"].nullable is False
    framed = orders.select("o", to_avro("o", file, schema_id=7).alias("payload"))
    assert bytes(framed.first()["payload"][:5]) == b"\0\0\0\0\7"
    back = framed.select("o", from_avro("payload", str(file), confluent=True).alias("back"))
    assert rows(back, "back") == rows(back, "o")


def test_avro_with_a_registry_reads_what_older_writers_wrote(orders, registry):
    url, schemas = registry
    written = orders.select(
        to_avro("o", json.dumps(AVRO), registry=url, subject="orders").alias("payload")
    ).cache()
    assert written.count() == 5
    newer = {**AVRO, "fields": [AVRO["fields"][0], {"name": "price", "type": "double", "default": 1.5}]}
    schemas[len(schemas) + 1] = ("orders", json.dumps(newer))
    back = written.select(from_avro("payload", registry=url, subject="orders").alias("back"))
    assert rows(back, "back") == [(index, 1.5) for index in range(5)]


def test_poison_is_named_or_null(spark, orders):
    poison = spark.sql("SELECT unhex('ff') AS payload")
    with pytest.raises(PythonException) as caught:
        poison.select(from_avro("payload", json.dumps(AVRO))).collect()
    assert "begins with ff cannot be decoded" in str(caught.value)
    frame = poison.select(from_avro("payload", json.dumps(AVRO), mode="PERMISSIVE").alias("o"))
    assert frame.collect() == [(None,)]


def test_protobuf_comes_back_as_it_went(spark, tmp_path):
    files = descriptor_pb2.FileDescriptorSet(file=[descriptor()])
    file = tmp_path / "order.desc"
    file.write_bytes(files.SerializeToString())
    frame = spark.sql(
        """SELECT named_struct('id', id, 'note', if(id % 2 = 0, NULL, ''), 'tags', array('a', 'b'),
        'counts', map('x', 1)) AS o FROM range(4)"""
    ).coalesce(1)
    plain = frame.select("o", to_protobuf("o", "shop.Order", file).alias("payload"))
    back = plain.select("o", from_protobuf("payload", "shop.Order", str(file)).alias("back"))
    assert rows(back, "back") == rows(back, "o")
    framed = frame.select("o", to_protobuf("o", "shop.Order", file, schema_id=3).alias("payload"))
    assert bytes(framed.first()["payload"][:6]) == b"\0\0\0\0\3\0"
    back = framed.select("o", from_protobuf("payload", "shop.Order", file, confluent=True).alias("back"))
    assert rows(back, "back") == rows(back, "o")


def test_protobuf_from_a_registry(spark, registry):
    url, schemas = registry
    schemas[1] = ("orders", base64.b64encode(descriptor().SerializeToString()).decode())
    frame = spark.sql("SELECT named_struct('id', 5L) AS o")
    options = {"registry": url, "subject": "orders"}
    back = frame.select(to_protobuf("o", "shop.Order", **options).alias("payload")).select(
        from_protobuf("payload", "shop.Order", **options).alias("back")
    )
    assert back.first()["back"]["id"] == 5
    with pytest.raises(Exception, match=r"has no message 'shop\.Oder'; it has shop\.Order"):
        from_protobuf("payload", "shop.Oder", **options)


def test_json_by_ddl_and_by_json_schema(orders, registry):
    url, _ = registry
    schema = json.dumps(
        {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {}}}}
    )
    back = orders.select("o", to_json("o").alias("payload")).select(
        from_json("payload", ORDERS).alias("whole"), from_json("payload", schema).alias("part"), "o"
    )
    assert rows(back, "whole") == rows(back, "o")
    assert rows(back, "part")[1] == (1, ["a", "b"])
    framed = orders.select(to_json("o", schema=schema, registry=url, subject="s").alias("payload"))
    assert bytes(framed.first()["payload"][:6]) == b"\0\0\0\0\1{"
    again = framed.select(from_json("payload", registry=url, subject="s").alias("back"))
    assert [row["back"]["id"] for row in again.collect()] == [0, 1, 2, 3, 4]
