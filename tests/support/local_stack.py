"""A toy checkout for the local stack: a template of its own and functions of a few lines each."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx

from codetrail_local.stack import LocalStack

TEMPLATE = """
Globals:
  Function:
    Timeout: 10
    MemorySize: 256
    Environment:
      Variables:
        POWERTOOLS_SERVICE_NAME: codetrail
Resources:
  EchoFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/echo
      Handler: app.handler
      Timeout: 3
      Environment:
        Variables:
          DATABASE_HOST: !Ref DatabaseHost
          JOBS_QUEUE_URL: !Ref JobsQueue
      Events:
        Get: { Type: Api, Properties: { Path: /echo, Method: GET } }
        Post: { Type: Api, Properties: { Path: /echo, Method: POST } }
        Item: { Type: Api, Properties: { Path: "/echo/{id}/parts/{part}", Method: ANY } }
        Rest: { Type: Api, Properties: { Path: "/rest/{proxy+}", Method: GET } }
  WorkFunction:
    Type: AWS::Serverless::Function
    Properties:
      PackageType: Image
      Timeout: 1
      Environment:
        Variables:
          BUCKET: !Ref NotesBucket
      Events:
        Jobs:
          Type: SQS
          Properties:
            Queue: !GetAtt JobsQueue.Arn
            BatchSize: 5
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: { MaximumConcurrency: 4 }
        Patient:
          Type: SQS
          Properties:
            Queue: !GetAtt PatientQueue.Arn
            BatchSize: 1
    Metadata:
      Dockerfile: functions/work/Dockerfile
      DockerContext: .
  BuryFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/bury
      Handler: app.handler
      Environment:
        Variables:
          BUCKET: !Ref NotesBucket
      Events:
        Dead:
          Type: SQS
          Properties:
            Queue: !GetAtt DeadQueue.Arn
            BatchSize: 10
        PatientDead:
          Type: SQS
          Properties:
            Queue: !GetAtt PatientDeadQueue.Arn
  MeetFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/meet
      Handler: app.handler
      Timeout: 60
      Environment:
        Variables:
          BUCKET: !Ref NotesBucket
      Events:
        Pairs:
          Type: SQS
          Properties:
            Queue: !GetAtt PairsQueue.Arn
            BatchSize: 1
            ScalingConfig: { MaximumConcurrency: 2 }
  PairsQueue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 90
  JobsQueue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 2
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt DeadQueue.Arn
        maxReceiveCount: 2
  DeadQueue:
    Type: AWS::SQS::Queue
  PatientQueue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 3600
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt PatientDeadQueue.Arn
        maxReceiveCount: 3
  PatientDeadQueue:
    Type: AWS::SQS::Queue
  NotesBucket:
    Type: AWS::S3::Bucket
"""

ECHO = """
import json, os, sys, time

def handler(event, context):
    query = event.get("queryStringParameters") or {}
    if "sleep" in query:
        print("a handler that sleeps")
        time.sleep(float(query["sleep"]))
    if "crash" in query:
        os._exit(1)
    if "raise" in query:
        raise ValueError("as asked")
    if "reply" in query:
        return json.loads(event["body"])
    if "size" in query:
        return {"statusCode": 200, "body": query.get("of", "x") * int(query["size"])}
    print("a handler that prints")
    sys.stdin.read()
    seen = {
        "event": event,
        "pid": os.getpid(),
        "variables": dict(os.environ),
        "context": {
            "remaining": context.get_remaining_time_in_millis(),
            "function_name": context.function_name,
            "memory": context.memory_limit_in_mb,
            "request_id": context.aws_request_id,
        },
    }
    return {"statusCode": 200, "headers": {"X-Seen": "yes"}, "body": json.dumps(seen)}
"""

# Writes down each record that it gets, then does what the message says.
WORK = """
import json, os, subprocess, sys, time, uuid
import boto3

s3 = boto3.client("s3")

def note(kind, record):
    s3.put_object(Bucket=os.environ["BUCKET"], Key=f"{kind}/{uuid.uuid4()}", Body=json.dumps(record))

def handler(event, context):
    failed = []
    for record in event["Records"]:
        said = json.loads(record["body"])
        note("seen", {"record": record, "pid": os.getpid(), "batch": len(event["Records"])})
        if "sleep" in said:
            time.sleep(said["sleep"])
        if said.get("child"):
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            note("child", {"pid": child.pid})
            time.sleep(600)
        if said.get("crash"):
            os._exit(9)
        if said.get("raise"):
            raise RuntimeError("as asked")
        if said.get("fail"):
            failed.append({"itemIdentifier": record["messageId"]})
        else:
            note("done", {"record": record})
    return {"batchItemFailures": failed}
"""

# Ends only when another message is being handled at the same time.
MEET = """
import json, os, time, uuid
import boto3

s3 = boto3.client("s3")

def handler(event, context):
    key = f"here/{uuid.uuid4()}"
    body = json.dumps({"pid": os.getpid()})
    s3.put_object(Bucket=os.environ["BUCKET"], Key=key, Body=body)
    while s3.list_objects_v2(Bucket=os.environ["BUCKET"], Prefix="here/")["KeyCount"] < 2:
        time.sleep(0.02)
    s3.put_object(Bucket=os.environ["BUCKET"], Key=key.replace("here", "met"), Body=body)
"""

BURY = """
import json, os, uuid
import boto3

s3 = boto3.client("s3")

def handler(event, context):
    for record in event["Records"]:
        body = json.dumps({"record": record})
        s3.put_object(Bucket=os.environ["BUCKET"], Key=f"buried/{uuid.uuid4()}", Body=body)
"""


def toy_checkout(folder: Path) -> Path:
    """Write the toy into *folder* and return it."""
    (folder / "template.yaml").write_text(TEMPLATE)
    for name, source in (("echo", ECHO), ("work", WORK), ("meet", MEET), ("bury", BURY)):
        home = folder / "functions" / name
        home.mkdir(parents=True)
        (home / "app.py").write_text(dedent(source))
    return folder


class Toy:
    """A toy stack that runs, and what its functions wrote down."""

    def __init__(self, folder: Path) -> None:
        root = folder / "root"
        root.mkdir()
        self.stack = LocalStack(folder / "home", root=toy_checkout(root), settings={})
        self.stack.start()
        aws = self.stack.aws
        self.queues = aws.queues
        self.sqs = aws.sqs
        self._s3 = aws.s3
        self._bucket = aws.template.buckets["NotesBucket"]
        self.http = httpx.Client(base_url=self.stack.api, trust_env=False, timeout=40)

    def stop(self) -> None:
        self.http.close()
        self.stack.stop()

    def send(self, queue: str = "JobsQueue", **message: object) -> str:
        """Put a message into a queue; return its id."""
        sent = self.sqs.send_message(QueueUrl=self.queues[queue].url, MessageBody=json.dumps(message))
        return str(sent["MessageId"])

    def notes(self, kind: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """What the functions wrote down, of one message or of all."""
        listed = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=f"{kind}/").get("Contents", [])
        notes = [
            json.loads(self._s3.get_object(Bucket=self._bucket, Key=item["Key"])["Body"].read())
            for item in listed
        ]
        return [note for note in notes if message_id in (None, note.get("record", {}).get("messageId"))]

    def waiting(self, queue: str) -> tuple[int, int]:
        """(visible, received) messages of a queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        reply = self.sqs.get_queue_attributes(QueueUrl=self.queues[queue].url, AttributeNames=names)
        return int(reply["Attributes"][names[0]]), int(reply["Attributes"][names[1]])


def until(condition: Callable[[], object], *, seconds: float = 10) -> None:
    """Return as soon as *condition* holds; fail when it does not within *seconds*."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(0.02)
