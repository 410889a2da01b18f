"""What a reader of template.yaml would assume, asserted of what it says and of what CloudFormation gets."""

import json
import re

import pytest

from tests.support.events import EVENTS
from tests.support.template import (
    ROOT,
    Resource,
    functions,
    of_type,
    routes,
    transformed,
    written,
)

EDGE = {"ReposFunction", "SearchFunction", "AskFunction", "HealthFunction"}
INSIDE = {"LoadFunction", "TrackFunction", "SweepFunction", "AdminFunction"}
UNTRUSTED = {"IndexFunction"}


def folder(function: Resource) -> str:
    return str(function.get("CodeUri", "functions/index")).removeprefix("functions/")


def actions(statement: Resource) -> list[str]:
    found = statement["Action"]
    return [found] if isinstance(found, str) else found


def statements(role: Resource) -> list[Resource]:
    return [
        statement
        for policy in role["Properties"].get("Policies", [])
        if "PolicyDocument" in policy
        for statement in policy["PolicyDocument"]["Statement"]
    ]


# ---------------------------------------------------------------------------- functions


def test_every_folder_of_functions_is_deployed_and_every_deployed_folder_is_there():
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    assert {folder(function) for function in functions().values()} == folders


def test_every_function_belongs_to_one_zone():
    assert functions().keys() == EDGE | INSIDE | UNTRUSTED


def test_the_image_function_is_built_from_the_root_by_its_own_dockerfile():
    metadata = written()["Resources"]["IndexFunction"]["Metadata"]

    assert (metadata["DockerContext"], metadata["Dockerfile"]) == (".", "functions/index/Dockerfile")
    assert (ROOT / metadata["Dockerfile"]).exists()


def test_all_zip_functions_run_one_version_of_python():
    runtimes = {one["Runtime"] for one in functions().values() if one.get("PackageType") != "Image"}

    assert runtimes == {"python3.13"}
    for layer in of_type("AWS::Lambda::LayerVersion").values():
        assert layer["Properties"]["CompatibleRuntimes"] == ["python3.13"]


def test_the_model_is_carried_by_those_who_embed_and_by_nobody_else():
    carriers = {name for name, one in functions().items() if {"Ref": "ModelLayer"} in one.get("Layers", [])}

    assert carriers == {"SearchFunction", "AskFunction", "LoadFunction"}


def test_a_request_is_not_waited_for_longer_than_the_front_does():
    assert {functions()[name]["Timeout"] for name in EDGE} == {29}


# ---------------------------------------------------------------------------- the three zones


def test_the_function_that_reads_strangers_bytes_is_in_no_network_of_ours_and_knows_no_database():
    index = of_type("AWS::Lambda::Function")["IndexFunction"]["Properties"]

    assert "VpcConfig" not in index
    variables = index["Environment"]["Variables"]
    assert not [name for name in variables if "DATABASE" in name or "SECRET" in name or "KEY" in name]
    assert "Database" not in json.dumps(index)


def test_the_function_that_reads_strangers_bytes_may_do_its_work_and_no_more():
    role = of_type("AWS::IAM::Role")["IndexRole"]

    assert "ManagedPolicyArns" not in role["Properties"]
    allowed = {(action, json.dumps(one["Resource"])) for one in statements(role) for action in actions(one)}
    queue, bucket = (
        '{"Fn::GetAtt": ["IndexQueue", "Arn"]}',
        '{"Fn::Sub": "${ArtifactBucket.Arn}/artifacts/*"}',
    )
    sends = '[{"Fn::GetAtt": ["LoadQueue", "Arn"]}, {"Fn::GetAtt": ["EventsQueue", "Arn"]}]'
    assert allowed == {
        ("sqs:ReceiveMessage", queue),
        ("sqs:DeleteMessage", queue),
        ("sqs:GetQueueAttributes", queue),
        ("sqs:SendMessage", sends),
        ("s3:GetObject", bucket),
        ("s3:PutObject", bucket),
        ("s3:DeleteObject", '{"Fn::Sub": "${ArtifactBucket.Arn}/artifacts/*/manifest.json"}'),
        ("s3:ListBucket", '{"Fn::GetAtt": ["ArtifactBucket", "Arn"]}'),
        ("logs:CreateLogStream", '{"Fn::GetAtt": ["IndexLogs", "Arn"]}'),
        ("logs:PutLogEvents", '{"Fn::GetAtt": ["IndexLogs", "Arn"]}'),
    }


@pytest.mark.parametrize("name", sorted(EDGE | INSIDE))
def test_whoever_reaches_the_database_is_in_the_private_subnets(name):
    properties = of_type("AWS::Lambda::Function")[name]["Properties"]

    assert properties["VpcConfig"]["SubnetIds"] == {"Ref": "PrivateSubnetIds"}
    group = "EdgeSecurityGroupId" if name in EDGE else "InsideSecurityGroupId"
    assert properties["VpcConfig"]["SecurityGroupIds"] == [{"Ref": group}]


@pytest.mark.parametrize("name", sorted(EDGE | INSIDE))
def test_a_function_connects_as_the_database_user_that_its_role_may_be(name):
    user = functions()[name]["Environment"]["Variables"]["DATABASE_USER"]
    granted = [
        one["Resource"]["Fn::Sub"].rsplit("/", 1)[1]
        for one in statements(of_type("AWS::IAM::Role")[f"{name}Role"])
        if actions(one) == ["rds-db:connect"]
    ]

    assert granted == [user]
    expected = (
        "codetrail_admin" if name == "AdminFunction" else f"codetrail_{'edge' if name in EDGE else 'inside'}"
    )
    assert user == expected


def test_the_edge_touches_no_bucket():
    for name in EDGE:
        assert "s3:" not in json.dumps(of_type("AWS::IAM::Role")[f"{name}Role"])


def test_only_who_submits_and_sweeps_sends_to_the_index_queue():
    senders = {
        name
        for name, role in of_type("AWS::IAM::Role").items()
        for one in statements(role)
        if "sqs:SendMessage" in actions(one) and "IndexQueue" in json.dumps(one["Resource"])
    }

    assert senders == {"ReposFunctionRole", "SweepFunctionRole"}


def test_there_is_no_way_out_by_a_nat_gateway():
    assert not of_type("AWS::EC2::NatGateway")


# ---------------------------------------------------------------------------- settings


def test_local_remotes_cannot_be_switched_on_by_the_template():
    assert "LOCAL_REMOTES" not in json.dumps(transformed())


def test_the_fake_embedder_cannot_be_chosen():
    assert written()["Parameters"]["EmbedProvider"]["AllowedValues"] == ["onnx", "bedrock"]


def test_every_variable_is_one_that_the_code_reads():
    config = (ROOT / "layers/core/codetrail/config.py").read_text()
    own = {name for one in functions().values() for name in one["Environment"]["Variables"]}

    assert not {name for name in own if not name.startswith("POWERTOOLS_") and f'"{name}"' not in config}


def test_every_parameter_is_used():
    text = json.dumps({key: value for key, value in written().items() if key != "Parameters"})

    assert not [
        name for name in written()["Parameters"] if f'"{name}"' not in text and f"${{{name}}}" not in text
    ]


def test_whoever_names_a_model_knows_the_provider_and_nobody_else():
    knows = {name for name, one in functions().items() if "EMBED_PROVIDER" in one["Environment"]["Variables"]}

    assert knows == {"ReposFunction", "SearchFunction", "AskFunction", "LoadFunction", "SweepFunction"}


def test_the_service_is_named_codetrail_everywhere():
    for function in functions().values():
        assert function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"] == "codetrail"


# ---------------------------------------------------------------------------- policies


def test_no_policy_of_ours_allows_every_action_or_every_resource():
    for name, role in of_type("AWS::IAM::Role").items():
        for statement in statements(role):
            assert statement["Effect"] == "Allow"
            assert not [action for action in actions(statement) if "*" in action], name
            resources = (
                statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            )
            assert "*" not in resources, name


# ---------------------------------------------------------------------------- queues


def test_every_consumed_queue_has_dead_letters_after_five_receives_or_holds_them():
    queues = of_type("AWS::SQS::Queue")
    redrive = {name: one["Properties"].get("RedrivePolicy") for name, one in queues.items()}
    targets = {policy["deadLetterTargetArn"]["Fn::GetAtt"][0] for policy in redrive.values() if policy}

    assert {name for name, policy in redrive.items() if policy} == {"IndexQueue", "LoadQueue", "EventsQueue"}
    assert all(policy["maxReceiveCount"] == 5 for policy in redrive.values() if policy)
    assert targets == {name for name, policy in redrive.items() if not policy}


def test_a_message_stays_hidden_longer_than_its_consumer_may_run():
    checked = set()
    for mapping in of_type("AWS::Lambda::EventSourceMapping").values():
        queue = mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]
        timeout = functions()[mapping["Properties"]["FunctionName"]["Ref"]]["Timeout"]
        hidden = of_type("AWS::SQS::Queue")[queue]["Properties"]["VisibilityTimeout"]
        assert hidden > timeout, queue
        # Not much longer either: a batch that failed is not tried again before.
        assert hidden <= 2 * timeout, queue
        checked.add(queue)

    assert checked == {
        "IndexQueue",
        "LoadQueue",
        "EventsQueue",
        "IndexDeadLetterQueue",
        "LoadDeadLetterQueue",
    }


def test_every_consumer_reports_which_messages_of_a_batch_failed():
    for mapping in of_type("AWS::Lambda::EventSourceMapping").values():
        assert mapping["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["Properties"]["ScalingConfig"]["MaximumConcurrency"] >= 2


def test_dead_letters_are_kept_as_long_as_can_be():
    for name, queue in of_type("AWS::SQS::Queue").items():
        if name.endswith("DeadLetterQueue"):
            assert queue["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_queues_are_encrypted():
    assert all(
        one["Properties"]["SqsManagedSseEnabled"] is True for one in of_type("AWS::SQS::Queue").values()
    )


def test_sweep_ends_before_the_next_sweep_begins():
    (schedule,) = of_type("AWS::Scheduler::Schedule").values()

    assert schedule["Properties"]["ScheduleExpression"] == "rate(1 minute)"
    assert functions()["SweepFunction"]["Timeout"] < 60


# ---------------------------------------------------------------------------- the bucket


def test_the_bucket_is_private_encrypted_and_forgets():
    (bucket,) = of_type("AWS::S3::Bucket").values()
    properties = bucket["Properties"]

    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["BucketEncryption"]
    (rule,) = properties["LifecycleConfiguration"]["Rules"]
    assert (rule["Status"], rule["Prefix"]) == ("Enabled", "artifacts/")
    assert rule["ExpirationInDays"] > 0


# ---------------------------------------------------------------------------- the front


def test_every_route_has_a_real_event():
    told = set()
    for path in EVENTS.glob("*.json"):
        event = json.loads(path.read_text())
        if "httpMethod" in event:
            told.add((event["httpMethod"], event["resource"]))

    assert told >= {(route.method, route.path) for route in routes() if route.method != "ANY"}


def test_every_path_hands_other_methods_to_the_function_that_owns_it():
    owners = {(route.path, route.function) for route in routes() if route.method != "ANY"}

    assert owners <= {(route.path, route.function) for route in routes() if route.method == "ANY"}


def test_every_other_address_reaches_a_function_of_ours():
    assert {route.path for route in routes() if route.method == "ANY"} >= {"/", "/{proxy+}"}


def test_the_front_refuses_in_our_shape_and_lets_no_other_origin_in():
    (api,) = of_type("AWS::ApiGateway::RestApi").values()
    responses = api["Properties"]["Body"]["x-amazon-apigateway-gateway-responses"]

    assert {"DEFAULT_4XX", "DEFAULT_5XX", "REQUEST_TOO_LARGE", "THROTTLED"} <= responses.keys()
    for response in responses.values():
        template = response["responseTemplates"]["application/json"]
        filled = re.sub(r"\$context\.error\.messageString", '"x"', template)
        assert "error" in json.loads(filled)
        assert "gatewayresponse.header.X-Request-Id" in response["responseParameters"]
    assert "Access-Control" not in json.dumps(api)


def test_the_front_writes_no_body_to_a_log():
    (stage,) = of_type("AWS::ApiGateway::Stage").values()
    (settings,) = stage["Properties"]["MethodSettings"]

    assert settings["DataTraceEnabled"] is False
    assert "AccessLogSetting" not in stage["Properties"]
