"""Messages as plain trees, the form in which two implementations are compared.

A struct is ``(values of the fields in wire order, {tag: value})``, as in ``kio_worker.py``.
"""

from distributedlog.wire.layout import Array, Struct


def tree_of(layout, message):
    """The tree of one of our messages."""
    return (
        [_tree_of_value(field.type, getattr(message, field.name)) for field in layout.present],
        {tag: _tree_of_value(field.type, getattr(message, field.name)) for tag, field in layout.tagged},
    )


def _tree_of_value(wire_type, value):
    if value is None:
        return None
    match wire_type:
        case Struct(layout):
            return tree_of(layout, value)
        case Array(element):
            return [_tree_of_value(element, item) for item in value]
    return bytes(value) if isinstance(value, memoryview) else value


def without_defaults(layout, tree):
    """The tree without the tagged fields that have their default, and so are not on the wire."""
    values, tags = tree
    default = dict(tree_of(layout, layout.struct())[1].items())
    return (
        [_without_defaults(field.type, value) for field, value in zip(layout.present, values, strict=True)],
        {
            tag: _without_defaults(field.type, tags[tag])
            for tag, field in layout.tagged
            if tags[tag] != default[tag]
        },
    )


def _without_defaults(wire_type, value):
    if value is None:
        return None
    match wire_type:
        case Struct(layout):
            return without_defaults(layout, value)
        case Array(element):
            return [_without_defaults(element, item) for item in value]
    return value
