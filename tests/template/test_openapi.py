"""infra/openapi.json is what the code says, and a description that tools accept."""

import json
import subprocess

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.support.events import EVENTS
from tests.support.template import ROOT, routes

PATH = ROOT / "infra" / "openapi.json"


@pytest.fixture(scope="module")
def described():
    return json.loads(PATH.read_text())


def test_the_committed_description_is_the_one_that_the_code_gives():
    run = subprocess.run([ROOT / ".ci" / "openapi", "--check"], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr


def test_it_is_valid_openapi(described):
    OpenAPIV31SpecValidator(described).validate()


def test_it_describes_the_routes_of_the_template_and_no_others(described):
    told = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}

    assert told == {(route.method, route.path) for route in routes() if route.method != "ANY"}


def test_every_route_says_how_it_refuses(described):
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            refusals = {status for status in operation["responses"] if status >= "400"}
            assert "405" in refusals, path
            if path.startswith("/api/"):
                assert refusals >= {"400", "413", "500", "503"}, (method, path)
            if "{repo}" in path:
                assert refusals >= {"404", "410"}, (method, path)


def test_requests_in_events_are_what_the_description_asks_for(described):
    for name, path in (("search", "/api/repos/{repo}/search"), ("ask", "/api/repos/{repo}/ask")):
        reference = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"][
            "$ref"
        ]
        schema = described["components"]["schemas"][reference.rsplit("/", 1)[1]]
        body = json.loads(json.loads((EVENTS / f"{name}.json").read_text())["body"])

        assert set(schema["required"]) <= body.keys() <= schema["properties"].keys()
