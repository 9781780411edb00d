"""Emits the encoder of a message: one flat function that collects the parts and joins them once.

As in the decoder, neighbouring fields of fixed width are packed by one precompiled ``pack``, together
with the length that follows them. Where a tag section is always empty, its zero is a pad byte of the
same pack. A value that does not fit makes ``struct`` raise; only then is the message searched for the
field that is to blame.
"""

from collections.abc import Callable
from struct import error as struct_error
from typing import Any

from distributedlog.wire import primitives
from distributedlog.wire.blame import blame
from distributedlog.wire.defaults import differs_from_default
from distributedlog.wire.layout import Array, Blob, Field, Layout, Scalar, Struct, Text, WireType
from distributedlog.wire.schema import ZERO_UUID
from distributedlog.wire.source import Source

Encoder = Callable[[Any], bytes]
PiecesEncoder = Callable[[Any], list[Any]]


def compile_encoder(layout: Layout) -> Encoder:
    """The function ``encode(message) -> bytes`` of a layout."""
    return _compile(layout, "encode", _join_parts)


def compile_pieces_encoder(layout: Layout) -> PiecesEncoder:
    """The function ``encode_pieces(message) -> list`` of a layout.

    Record batches stay pieces of their own, whether they are buffers or regions of a file.
    """
    if layout.has_records:
        return _compile(layout, "encode_pieces", _join_pieces)
    encode = compile_encoder(layout)
    return lambda message: [encode(message)]


def _compile(layout: Layout, function: str, finish: Callable[[Source], None]) -> Callable[..., Any]:
    name = layout.struct.__name__
    source = Source(
        {
            "VARINTS": primitives.VARINTS,
            "ZERO_UUID": ZERO_UUID,
            "bad_uuid": primitives.bad_uuid,
            "blame": blame,
            "layout": layout,
            "long_text_varint": primitives.long_text_varint,
            "long_varint": primitives.long_varint,
            "struct_error": struct_error,
            "unsupported": primitives.unsupported,
        }
    )
    with source.block(f"def {function}(message):"):
        with source.block("try:"):
            source.line("parts = []")
            source.line("write = parts.append")
            if function == "encode_pieces":
                source.line("pieces = []")
            emitter = _Emitter(source, layout, cuts_at_records=function == "encode_pieces")
            emitter.struct(layout, "message", name)
            emitter.write_run()
            finish(source)
        with source.block("except (struct_error, AttributeError, TypeError, UnicodeEncodeError) as error:"):
            source.line("raise blame(layout, message, error) from error")
    return source.compile(function, f"<{name} version {layout.version}: {function}>")


def _join_parts(source: Source) -> None:
    source.line("return b''.join(parts)")


def _join_pieces(source: Source) -> None:
    with source.block("if parts:"):
        source.line("pieces.append(b''.join(parts))")
    source.line("return pieces")


class _Emitter:
    """Walks over a layout and writes what packs it.

    ``_run`` holds what comes next in fixed width and is not written yet: pairs of a format character
    and the expression to pack, which is empty for a pad byte.
    """

    def __init__(self, source: Source, layout: Layout, cuts_at_records: bool) -> None:
        self._source = source
        self._flexible = layout.flexible
        self._version = layout.version
        self._cuts_at_records = cuts_at_records
        self._write = "write"
        self._run: list[tuple[str, str]] = []

    def write_run(self) -> None:
        """Write the one line that packs all of the run."""
        if self._run:
            self._source.line(f"{self._write}({self._packed(self._run)})")
            self._run.clear()

    def _packed(self, run: list[tuple[str, str]]) -> str:
        formats = "".join(code for code, _ in run)
        if formats == "x" * len(formats):
            return repr(bytes(len(formats)))
        pack = self._source.constant("pack_" + formats.replace("?", "o"), primitives.pack(formats))
        return f"{pack}({', '.join(value for _, value in run if value)})"

    def struct(self, layout: Layout, variable: str, path: str) -> None:
        """Write the fields of the object in ``variable``."""
        for field in layout.absent:
            if not field.ignorable:
                with self._source.block(f"if {differs_from_default(field, f'{variable}.{field.name}')}:"):
                    self._source.line(f"raise unsupported({f'{path}.{field.name}'!r}, {self._version})")
        for field in layout.present:
            self._field(field, f"{variable}.{field.name}", f"{path}.{field.name}")
        if self._flexible:
            self._tag_section(layout, variable, path)

    def _field(self, field: Field, value: str, path: str, null_marker: bytes = b"\xff") -> None:
        match field.type:
            case Scalar():
                self._scalar(field.type, value, path)
            case Text():
                self._text(value, field.nullable)
            case Blob(is_records):
                self._blob(value, field.nullable, is_records and self._cuts_at_records)
            case Array(element):
                self._array(element, field, value, path)
            case Struct(layout) if field.nullable:
                self._nullable_struct(layout, field.name, value, path, null_marker)
            case Struct(layout):
                self._nested(layout, field.name, value, path)

    def _nested(self, layout: Layout, name: str, value: str, path: str) -> None:
        variable = self._source.name(name)
        self._source.line(f"{variable} = {value}")
        self.struct(layout, variable, path)

    def _nullable_struct(self, layout: Layout, name: str, value: str, path: str, null_marker: bytes) -> None:
        self.write_run()
        with self._source.block(f"if {value} is None:"):
            self._source.line(f"{self._write}({null_marker!r})")
        with self._source.block("else:"):
            self._run.append(("b", "1"))
            self._nested(layout, name, value, path)
            self.write_run()

    def _scalar(self, scalar: Scalar, value: str, path: str) -> None:
        if scalar.name == "uuid":
            with self._source.block(f"if len({value}) != 16:"):
                self._source.line(f"raise bad_uuid({path!r}, {value})")
        self._run.append((scalar.format, value))

    def _text(self, value: str, nullable: bool) -> None:
        line = self._source.line
        encoded = f"{value}.encode()"
        if nullable:
            line(f"text = None if {value} is None else {encoded}")
        else:
            line(f"text = {encoded}")
        self._length("text", nullable, "h", "long_text_varint")
        if nullable:
            with self._source.block("if text:"):
                line(f"{self._write}(text)")
        else:
            line(f"{self._write}(text)")

    def _blob(self, value: str, nullable: bool, cuts: bool) -> None:
        line = self._source.line
        line(f"data = {value}")
        self._length("data", nullable, "i", "long_varint")
        with self._source.block("if data:" if not cuts else "if data is not None and len(data):"):
            if cuts:
                line("pieces.append(b''.join(parts))")
                line("parts.clear()")
                line("pieces.append(data)")
            else:
                line(f"{self._write}(data)")

    def _array(self, element: WireType, field: Field, value: str, path: str) -> None:
        line = self._source.line
        items = self._source.name(field.name)
        line(f"{items} = {value}")
        self._length(items, field.nullable, "i", "long_varint")
        if field.nullable or isinstance(element, Scalar):
            with self._source.block(f"if {items}:"):
                self._elements(element, items, f"{field.name}_item", path)
        else:
            self._elements(element, items, f"{field.name}_item", path)

    def _elements(self, element: WireType, items: str, stem: str, path: str) -> None:
        if isinstance(element, Scalar) and element.name != "uuid":
            structs = primitives.PACK_ARRAYS[element.format]
            arrays = self._source.constant(f"pack_{element.name}_array", structs)
            self._source.line(f"{self._write}({arrays}[len({items})](*{items}))")
            return
        item = self._source.name(stem)
        with self._source.block(f"for {item} in {items}:"):
            match element:
                case Struct(layout):
                    self.struct(layout, item, path)
                case Scalar():
                    self._scalar(element, item, path)
                case Text():
                    self._text(item, nullable=False)
                case _:
                    self._blob(item, nullable=False, cuts=False)
            self.write_run()

    def _length(self, sized: str, nullable: bool, fixed_format: str, long_varint: str) -> None:
        """Write the run together with a length: fixed, or compact and then one larger, with 0 for null."""
        if not self._flexible:
            length = f"len({sized})"
            self._run.append((fixed_format, f"-1 if {sized} is None else {length}" if nullable else length))
            self.write_run()
            return
        line = self._source.line
        if nullable:
            line(f"length = 0 if {sized} is None else len({sized}) + 1")
        else:
            line(f"length = len({sized}) + 1")
        with self._source.block("if length < 128:"):
            if self._run:
                line(f"{self._write}({self._packed([*self._run, ('B', 'length')])})")
            else:
                line(f"{self._write}(VARINTS[length])")
        with self._source.block("else:"):
            self.write_run()
            line(f"{self._write}({long_varint}(length))")

    def _tag_section(self, layout: Layout, variable: str, path: str) -> None:
        if not layout.tagged:
            self._run.append(("x", ""))
            return
        line = self._source.line
        conditions = []
        for _, field in layout.tagged:
            condition = self._source.name(f"has_{field.name}")
            line(f"{condition} = {differs_from_default(field, f'{variable}.{field.name}')}")
            conditions.append(condition)
        self._run.append(("B", " + ".join(conditions)))
        self.write_run()
        for condition, (tag, field) in zip(conditions, layout.tagged, strict=True):
            with self._source.block(f"if {condition}:"):
                self._tagged_field(tag, field, f"{variable}.{field.name}", f"{path}.{field.name}")

    def _tagged_field(self, tag: int, field: Field, value: str, path: str) -> None:
        """The size stands before the value, so the value is written into a list of its own first."""
        line = self._source.line
        outer = self._write
        parts = self._source.name("tagged_parts")
        self._write = self._source.name("write")
        line(f"{parts} = []")
        line(f"{self._write} = {parts}.append")
        # A struct that may be null is marked by a varint here, by a signed byte elsewhere.
        self._field(field, value, path, null_marker=b"\0")
        self.write_run()
        self._write = outer
        line(f"data = b''.join({parts})")
        line(f"{outer}({primitives.long_varint(tag)!r})")
        line(f"{outer}(long_varint(len(data)))")
        line(f"{outer}(data)")
