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
