"""template.yaml, as it is written and as CloudFormation gets it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]
PATH = ROOT / "template.yaml"

Resource = dict[str, Any]

# What a deployment would give. No default is left to chance.
PARAMETERS = {
    "StageName": "v1",
    "PrivateSubnetIds": "subnet-0a1b2c3d",
    "EdgeSecurityGroupId": "sg-0edge",
    "InsideSecurityGroupId": "sg-0inside",
    "DatabaseHost": "db.example",
    "DatabaseName": "codetrail",
    "DatabaseResourceId": "db-ABCDEF",
    "AllowedHosts": "github.com",
    "RetrievalMode": "hybrid",
    "EmbedProvider": "onnx",
}


class _NoPolicies:
    """The template names no policy of Amazon's, so there is none to look up."""

    def load(self) -> dict[str, str]:
        return {
            "AWSLambdaBasicExecutionRole": "basic",
            "AWSLambdaVPCAccessExecutionRole": "vpc",
            "AWSLambdaSQSQueueExecutionRole": "sqs",
        }


@cache
def written() -> dict[str, Any]:
    """The template as a reader sees it; !Ref and !GetAtt as CloudFormation's own functions."""
    template: dict[str, Any] = yaml_parse(PATH.read_text())
    return template


def functions() -> dict[str, Resource]:
    """The functions by logical id, with what Globals says filled in."""
    shared = written()["Globals"]["Function"]
    found = {}
    for name, resource in written()["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            own = resource["Properties"]
            variables = {
                **shared["Environment"]["Variables"],
                **own.get("Environment", {}).get("Variables", {}),
            }
            found[name] = {**shared, **own, "Environment": {"Variables": variables}}
    return found


@cache
def transformed() -> dict[str, Any]:
    """The template after SAM's transform, as CloudFormation gets it."""
    # By way of JSON, which has no aliases: SAM changes a shared policy once for each place that it stands in.
    template = json.loads(json.dumps(written()))
    for resource in template["Resources"].values():
        # Packaging would put artefacts there.
        properties = resource.get("Properties", {})
        if "CodeUri" in properties:
            properties["CodeUri"] = "s3://artefacts/code"
        if "ContentUri" in properties:
            properties["ContentUri"] = "s3://artefacts/layer"
        if properties.get("PackageType") == "Image":
            properties["ImageUri"] = "123456789012.dkr.ecr.us-east-1.amazonaws.com/index:1"
    result: dict[str, Any] = transform(template, PARAMETERS, _NoPolicies())
    return result


def of_type(kind: str) -> dict[str, Resource]:
    """The transformed resources of one CloudFormation type, by logical id."""
    return {name: one for name, one in transformed()["Resources"].items() if one["Type"] == kind}


@dataclass(frozen=True)
class Route:
    """A method and a path, and the logical id of the function that it calls."""

    method: str
    path: str
    function: str


def routes() -> list[Route]:
    """Every route, ANY among them, in the template's order."""
    return [
        Route(event["Properties"]["Method"].upper(), event["Properties"]["Path"], name)
        for name, function in functions().items()
        for event in function.get("Events", {}).values()
        if event["Type"] == "Api"
    ]
