"""Emits the decoder of a message: one flat function, with all nested structs in line.

Three ideas make it fast. Neighbouring fields of fixed width are read by one precompiled
``unpack_from``, straight into the attributes of the message; the first byte of a length that follows
them is read along, for it is nearly always the only one. Objects are made by ``object.__new__`` and
filled, which spares the call of ``__init__``. And no helper is called unless something is unusual.

What makes it safe: each length is checked against what is left of the buffer before anything is made
from it, and running off the end shows as ``IndexError`` or ``struct.error``, which become a
``ProtocolError`` outside the hot path.
"""

from collections.abc import Callable
from struct import error as struct_error
from typing import Any

from distributedlog.wire import primitives
from distributedlog.wire.layout import (
    Array,
    Blob,
    Field,
    Layout,
    Scalar,
    Struct,
    Text,
    WireType,
    type_size_min,
)
from distributedlog.wire.schema import ZERO_UUID
from distributedlog.wire.source import Source

Decoder = Callable[..., tuple[Any, int]]


def compile_decoder(layout: Layout) -> Decoder:
    """The function ``decode(buffer, position=0) -> (message, end position)`` of a layout."""
    name = layout.struct.__name__
    source = Source(
        {
            "ZERO_UUID": ZERO_UUID,
            "bad_length": primitives.bad_length,
            "bad_tag": primitives.bad_tag,
            "bad_tag_size": primitives.bad_tag_size,
            "new": object.__new__,
            "not_utf8": primitives.not_utf8,
            "read_text_length": primitives.read_text_length,
            "read_varint": primitives.read_varint,
            "skip_tags": primitives.skip_tags,
            "struct_error": struct_error,
            "truncated": primitives.truncated,
        }
    )
    with source.block("def decode(buffer, position=0):"):
        source.line("limit = len(buffer)")
        with source.block("try:"):
            emitter = _Emitter(source, layout.flexible)
            emitter.struct(layout, "message", name)
            emitter.read_run()
            source.line("return message, position")
        with source.block("except (IndexError, struct_error):"):
            source.line(f"raise truncated({name!r}, limit) from None")
        with source.block("except UnicodeDecodeError as error:"):
            source.line(f"raise not_utf8({name!r}, error) from None")
    return source.compile("decode", f"<{name} version {layout.version}: decode>")


class _Emitter:
    """Walks over a layout and writes what reads it.

    ``_run`` holds what stands next on the wire in fixed width and is not read yet: pairs of a format
    character and the variable or attribute to read into.
    """

    def __init__(self, source: Source, flexible: bool) -> None:
        self._source = source
        self._flexible = flexible
        self._run: list[tuple[str, str]] = []

    def read_run(self) -> None:
        """Write the one line that reads all of the run."""
        if not self._run:
            return
        line = self._source.line
        targets = ", ".join(target for _, target in self._run)
        formats = "".join(code for code, _ in self._run)
        self._run.clear()
        if formats == "B":
            line(f"{targets} = buffer[position]")
            line("position += 1")
            return
        function, size = primitives.unpack_from(formats)
        unpack = self._source.constant("unpack_" + formats.replace("?", "o"), function)
        line(f"{targets}{'' if ', ' in targets else ','} = {unpack}(buffer, position)")
        line(f"position += {size}")

    def struct(self, layout: Layout, variable: str, path: str) -> None:
        """Make an object in ``variable`` and fill it."""
        new_class = self._source.constant(layout.struct.__name__, layout.struct)
        self._source.line(f"{variable} = new({new_class})")
        for field in layout.absent:
            self._default(field, f"{variable}.{field.name}")
        for field in layout.present:
            self._field(field, f"{variable}.{field.name}", f"{path}.{field.name}")
        if self._flexible:
            self._tag_section(layout, variable, path)

    def _field(self, field: Field, target: str, path: str, null_marker: str = "b") -> None:
        match field.type:
            case Struct(layout) if field.nullable:
                self._run.append((null_marker, "marker"))
                self.read_run()
                with self._source.block("if marker < 0:" if null_marker == "b" else "if marker == 0:"):
                    self._source.line(f"{target} = None")
                with self._source.block("else:"):
                    self._nested(layout, field.name, target, path)
                    self.read_run()
            case Struct(layout):
                self._nested(layout, field.name, target, path)
            case Array(element):
                self._array(element, field, target, path)
            case Text() | Blob() | Scalar():
                self._value(field.type, field.nullable, target, path)

    def _nested(self, layout: Layout, name: str, target: str, path: str) -> None:
        variable = self._source.name(name)
        self.struct(layout, variable, path)
        self._source.line(f"{target} = {variable}")

    def _value(self, wire_type: Scalar | Text | Blob, nullable: bool, target: str, path: str) -> None:
        match wire_type:
            case Scalar(format=code):
                self._run.append((code, target))
            case Text():
                self._bytes("str(buffer[position:end], 'utf-8')", wire_type, nullable, target, path)
            case Blob(is_records=True):
                self._bytes("memoryview(buffer)[position:end]", wire_type, nullable, target, path)
            case Blob():
                self._bytes("bytes(buffer[position:end])", wire_type, nullable, target, path)

    def _bytes(self, make: str, wire_type: Text | Blob, nullable: bool, target: str, path: str) -> None:
        """A length, then as many bytes, of which the expression ``make`` makes a value."""
        line, block = self._source.line, self._source.block
        if isinstance(wire_type, Text):
            shift = self._length("length", "h", f"read_text_length(buffer, position, length, {path!r})")
        else:
            shift = self._length("length", "i")

        def take_bytes() -> None:
            line(f"end = position + length{shift}")
            with block("if not position <= end <= limit:"):
                line(f"raise bad_length({path!r}, length{shift}, limit - position)")
            line(f"{target} = {make}")
            line("position = end")

        self._unless_null("length", nullable, target, take_bytes)

    def _array(self, element: WireType, field: Field, target: str, path: str) -> None:
        line, block = self._source.line, self._source.block
        shift = self._length("count", "i")
        element_size_min = type_size_min(element, self._flexible)

        def take_elements() -> None:
            if shift:
                line("count -= 1")
            with block(f"if not 0 <= count * {element_size_min} <= limit - position:"):
                line(f"raise bad_length({path!r}, count, limit - position)")
            if isinstance(element, Scalar):
                self._scalars(element, target)
            else:
                self._elements(element, field.name, target, path)

        self._unless_null("count", field.nullable, target, take_elements)

    def _scalars(self, element: Scalar, target: str) -> None:
        """All elements at once: the count is known to fit."""
        line = self._source.line
        if element.name == "uuid":
            line("end = position + count * 16")
            line(f"{target} = [bytes(buffer[at : at + 16]) for at in range(position, end, 16)]")
            line("position = end")
            return
        arrays = self._source.constant(
            f"unpack_{element.name}_array", primitives.UNPACK_ARRAYS[element.format]
        )
        line(f"{target} = list({arrays}[count](buffer, position))")
        line(f"position += count * {element.size}" if element.size > 1 else "position += count")

    def _elements(self, element: WireType, name: str, target: str, path: str) -> None:
        line = self._source.line
        items = self._source.name(name)
        line(f"{items} = {target} = []")
        with self._source.block("for _ in range(count):"):
            variable = self._source.name(f"{name}_item")
            match element:
                case Struct(layout):
                    self.struct(layout, variable, path)
                case Text() | Blob() | Scalar():
                    self._value(element, False, variable, path)
            self.read_run()
            line(f"{items}.append({variable})")

    def _length(self, variable: str, fixed_format: str, finish: str = "") -> str:
        """Read a length into a variable; returns what corrects it, since compact ones are one too large."""
        if not self._flexible:
            self._run.append((fixed_format, variable))
            self.read_run()
            return ""
        self._run.append(("B", variable))
        self.read_run()
        self._finish_varint(variable, finish)
        return " - 1"

    def _finish_varint(self, variable: str, finish: str = "") -> None:
        finish = finish or f"read_varint(buffer, position, {variable})"
        with self._source.block(f"if {variable} > 127:"):
            self._source.line(f"{variable}, position = {finish}")

    def _unless_null(self, length: str, nullable: bool, target: str, take: Callable[[], None]) -> None:
        if not nullable:
            take()
            return
        null = f"if {length} == 0:" if self._flexible else f"if {length} == -1:"
        with self._source.block(null):
            self._source.line(f"{target} = None")
        with self._source.block("else:"):
            take()

    def _tag_section(self, layout: Layout, variable: str, path: str) -> None:
        line, block = self._source.line, self._source.block
        for _, field in layout.tagged:
            self._default(field, f"{variable}.{field.name}")
        tags = "tags" if not layout.tagged else self._source.name("tags")
        self._run.append(("B", tags))
        self.read_run()
        with block(f"if {tags}:"):
            if not layout.tagged:
                line("position = skip_tags(buffer, position, tags)")
                return
            self._finish_varint(tags)
            previous, tag, end = (self._source.name(stem) for stem in ("previous_tag", "tag", "tag_end"))
            line(f"{previous} = -1")
            with block(f"for _ in range({tags}):"):
                self._tag_head(previous, tag, end)
                for index, (number, field) in enumerate(layout.tagged):
                    with block(f"{'el' if index else ''}if {tag} == {number}:"):
                        # A struct that may be null is marked by a varint here, by a signed byte elsewhere.
                        self._field(field, f"{variable}.{field.name}", f"{path}.{field.name}", "B")
                        self.read_run()
                        with block(f"if position != {end}:"):
                            line(f"raise bad_tag_size({f'{path}.{field.name}'!r})")
                with block("else:"):
                    line(f"position = {end}")

    def _tag_head(self, previous: str, tag: str, end: str) -> None:
        line = self._source.line
        for variable in (tag, "size"):
            line(f"{variable} = buffer[position]")
            line("position += 1")
            self._finish_varint(variable)
        with self._source.block(f"if {tag} <= {previous} or size > limit - position:"):
            line(f"raise bad_tag({tag}, {previous}, size, limit - position)")
        line(f"{previous} = {tag}")
        line(f"{end} = position + size")

    def _default(self, field: Field, target: str) -> None:
        """Store the default of a field that this version lacks, or that need not be there."""
        factory = field.default_factory
        if factory is None:
            self._source.line(f"{target} = {field.default!r}")
        elif factory is list:
            self._source.line(f"{target} = []")
        else:
            self._source.line(f"{target} = {self._source.constant('make_' + field.name, factory)}()")
