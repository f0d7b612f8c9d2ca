"""What the generator makes of a model, and what it refuses to make."""

from typing import Annotated, Any

import pytest
from pydantic import Field
from torpor_crds.crdgen.openapi import SchemaError, structural
from torpor_crds.models.base import Model

Text = Annotated[str, Field(max_length=10)]


class Inner(Model):
    """An inner value."""

    name: Annotated[Text, Field(description="Its name.")]


class Outer(Model):
    """An outer value."""

    one: Annotated[Inner, Field(description="The one.")]
    maybe: Annotated[Inner | None, Field(description="Perhaps another.")] = None
    many: Annotated[
        tuple[Inner, ...], Field(max_length=3, description="More.", json_schema_extra={"x-key": "name"})
    ] = ()
    share: Annotated[int, Field(ge=0, lt=256, description="A number.")] = 7
    either: Annotated[
        Inner | None,
        Field(description="An object or a text.", json_schema_extra={"x-text-form": {"pattern": "^x", "maxLength": 9}}),
    ] = None
    anything: Annotated[Any, Field(description="Whatever.", json_schema_extra={"x-any": True})] = None


def schema_of(model: type[Model]) -> dict[str, Any]:
    return structural(model.model_json_schema(by_alias=True))


def test_references_are_written_out_and_keep_the_fields_description() -> None:
    inner = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"description": "Its name.", "type": "string", "maxLength": 10}},
    }
    properties = schema_of(Outer)["properties"]
    assert properties["one"] == {"description": "The one.", **inner}
    assert properties["maybe"] == {"description": "Perhaps another.", **inner}


def test_a_keyed_list_is_a_map_to_the_api_server() -> None:
    many = schema_of(Outer)["properties"]["many"]
    assert many["x-kubernetes-list-type"] == "map"
    assert many["x-kubernetes-list-map-keys"] == ["name"]
    assert "default" not in many


def test_an_exclusive_bound_becomes_an_inclusive_one() -> None:
    share = schema_of(Outer)["properties"]["share"]
    assert share == {
        "description": "A number. Default: 7.",
        "type": "integer",
        "minimum": 0,
        "maximum": 255,
        "default": 7,
    }


def test_a_value_of_any_type_is_kept_as_it_is_even_null() -> None:
    anything = schema_of(Outer)["properties"]["anything"]
    assert anything == {"description": "Whatever.", "nullable": True, "x-kubernetes-preserve-unknown-fields": True}


def test_an_object_or_a_text_has_the_keywords_of_both_and_no_type() -> None:
    assert schema_of(Outer)["properties"]["either"] == {
        "description": "An object or a text.",
        "required": ["name"],
        "properties": {"name": {"description": "Its name.", "type": "string", "maxLength": 10}},
        "pattern": "^x",
        "maxLength": 9,
        "x-kubernetes-preserve-unknown-fields": True,
    }


class Careless(Model):
    """A value with nothing said about it."""

    word: str = ""
    words: Annotated[tuple[str, ...], Field(description="Words.")] = ()
    table: Annotated[dict[str, Text], Field(description="A table.")] = Field(default_factory=dict)


def test_every_field_without_a_description_or_a_bound_is_named_at_once() -> None:
    with pytest.raises(SchemaError) as refused:
        schema_of(Careless)
    assert str(refused.value).splitlines() == [
        ".word: no description",
        ".word: no maxLength",
        ".words: no maxItems",
        ".words[]: no maxLength",
        ".table: no maxProperties",
    ]


class Torn(Model):
    """A value of two types."""

    either: Annotated[int | Text, Field(description="Either.")]


def test_a_union_is_refused() -> None:
    with pytest.raises(SchemaError, match="one type, not a union"):
        schema_of(Torn)
