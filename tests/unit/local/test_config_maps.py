"""The API server in memory refuses ConfigMaps that a cluster refuses."""

from typing import Any

import pytest
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_local.apiserver import config_maps
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.server import ApiServer
from torpor_local.clock import SkippableClock


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data": {"../x": ""}}, "data[../x]: a valid config key must consist of alphanumeric characters"),
        ({"data": {"a/b": ""}}, "data[a/b]: a valid config key"),
        ({"data": {"..": ""}}, "data[..]: a valid config key"),
        ({"data": {"a b.py": ""}}, "data[a b.py]: a valid config key"),
        ({"data": {"x" * 254: ""}}, "has at most 253 characters"),
        ({"binaryData": {"/x": ""}}, "binaryData[/x]: a valid config key"),
        ({"binaryData": {"x": "?"}}, "binaryData[x] is not base64"),
        ({"data": {"x": 1}}, "data[x] has to be a string"),
        ({"data": {"x": ""}, "binaryData": {"x": ""}}, "data[x]: duplicate of key present in binaryData"),
        ({"data": {"x": "y" * 1024**2, "z": "y"}}, "it has 1,048,577 bytes: must have at most 1,048,576"),
        ({"data": []}, "have to be objects"),
    ],
)
def test_an_invalid_config_map_is_refused(fields: dict[str, Any], expected: str) -> None:
    server = ApiServer(SkippableClock())
    with pytest.raises(DeniedError) as refused:
        server.create(CONFIG_MAPS, "default", {"metadata": {"name": "code"}, **fields})
    assert 'ConfigMap "code" is invalid: ' in str(refused.value)
    assert expected in str(refused.value)


def test_the_files_of_a_config_map_are_texts_and_bytes() -> None:
    body = {"data": {"a.py": "é"}, "binaryData": {"b": "/wA=\n"}}
    assert config_maps.problem(None, {"data": {".a-B_9": ""}}) is None
    assert config_maps.files(body) == {"a.py": "é".encode(), "b": b"\xff\0"}
