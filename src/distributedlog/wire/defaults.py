"""The question whether a value differs from its field's default, as a Python expression.

It is asked for each tagged field that is encoded, and for fields that a version does not have, so it
is written out for the type at hand: comparing two structs through ``==`` would cost ten times as much.
"""

from typing import Any

from distributedlog.wire.layout import Array, Field, Layout, SchemaError, Struct


def differs_from_default(field: Field, value: str) -> str:
    """An expression that is a bool and is true when ``value`` is not the default of ``field``."""
    if field.default_factory is None:
        return _differs(value, field.default)
    if isinstance(field.type, Struct):
        differs = _struct_differs(field.type.layout, field.default_factory(), value)
        return f"({value} is None or {differs})" if field.nullable else differs
    if isinstance(field.type, Array) and field.default_factory() == []:
        return f"({value} is None or len({value}) > 0)"
    raise SchemaError(f"the default of {field.name} is of a kind that does not occur")


def _differs(value: str, default: Any) -> str:
    if default is None:
        return f"{value} is not None"
    return f"{value} != {default!r}"


def _struct_differs(layout: Layout, default: Any, value: str) -> str:
    terms = []
    for field in (*layout.present, *(field for _, field in layout.tagged), *layout.absent):
        inner = getattr(default, field.name)
        if isinstance(field.type, Struct) and inner is not None:
            terms.append(_struct_differs(field.type.layout, inner, f"{value}.{field.name}"))
        elif isinstance(field.type, Array) and inner is not None:
            terms.append(f"({value}.{field.name} is None or len({value}.{field.name}) > 0)")
        else:
            terms.append(_differs(f"{value}.{field.name}", inner))
    return f"({' or '.join(terms)})"
