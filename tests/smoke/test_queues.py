"""Messages in a queue, SQS events to the function, and what becomes of them."""

from typing import Any

import pytest

from tests.support.local_stack import Toy, until


def test_a_message_arrives_as_the_record_that_lambda_hands_over(toy: Toy) -> None:
    message = toy.send(n=1)

    until(lambda: toy.notes("done", message))

    (record,) = [note["record"] for note in toy.notes("done", message)]
    assert set(record) == {
        "messageId", "receiptHandle", "body", "attributes", "messageAttributes", "md5OfBody", "eventSource",
        "eventSourceARN", "awsRegion",
    }  # fmt: skip
    assert record["body"] == '{"n": 1}'
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"] == toy.queues["JobsQueue"].arn
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert {"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} <= set(record["attributes"])


def test_a_message_that_was_handled_is_gone_and_never_seen_again(toy: Toy) -> None:
    message = toy.send(n=2)
    until(lambda: toy.notes("done", message) and toy.waiting("JobsQueue") == (0, 0))

    other = toy.send(n=3)
    until(lambda: toy.notes("done", other))

    assert len(toy.notes("seen", message)) == 1


def test_message_attributes_arrive_in_lambdas_spelling(toy: Toy) -> None:
    sent = toy.sqs.send_message(
        QueueUrl=toy.queues["JobsQueue"].url, MessageBody="{}",
        MessageAttributes={"colour": {"DataType": "String", "StringValue": "red"}},
    )  # fmt: skip

    until(lambda: toy.notes("done", sent["MessageId"]))

    record = toy.notes("done", sent["MessageId"])[0]["record"]
    assert record["messageAttributes"] == {
        "colour": {"stringValue": "red", "stringListValues": [], "binaryListValues": [], "dataType": "String"}
    }


@pytest.mark.parametrize("trouble", [{"raise": True}, {"sleep": 60}], ids=["raises", "overruns"])
def test_a_message_whose_function_fails_is_seen_again_after_its_visibility_and_then_buried(
    toy: Toy, trouble: dict[str, Any]
) -> None:
    message = toy.send(**trouble)
    until(lambda: toy.notes("seen", message))
    assert toy.waiting("JobsQueue")[1] >= 1

    until(lambda: toy.notes("buried", message), seconds=15)

    counts = sorted(
        note["record"]["attributes"]["ApproximateReceiveCount"] for note in toy.notes("seen", message)
    )
    assert counts == ["1", "2"]
    assert toy.notes("done", message) == []
    (buried,) = toy.notes("buried", message)
    assert buried["record"]["eventSourceARN"] == toy.queues["DeadQueue"].arn
    assert buried["record"]["attributes"]["DeadLetterQueueSourceArn"] == toy.queues["JobsQueue"].arn


def test_a_message_whose_function_died_is_seen_again_at_once_and_counted_and_then_buried(toy: Toy) -> None:
    """The visibility timeout of this queue is an hour."""
    message = toy.send("PatientQueue", crash=True)

    until(lambda: toy.notes("buried", message), seconds=30)

    seen = toy.notes("seen", message)
    counts = sorted(note["record"]["attributes"]["ApproximateReceiveCount"] for note in seen)
    assert counts == ["1", "2", "3"]
    assert len({note["pid"] for note in seen}) == 3
    (buried,) = toy.notes("buried", message)
    assert buried["record"]["attributes"]["DeadLetterQueueSourceArn"] == toy.queues["PatientQueue"].arn


def test_a_message_whose_function_raised_waits_for_its_visibility(toy: Toy) -> None:
    raised = toy.send("PatientQueue", **{"raise": True})
    until(lambda: toy.notes("seen", raised))

    after = toy.send("PatientQueue", crash=True)
    until(lambda: toy.notes("buried", after), seconds=30)

    assert len(toy.notes("seen", raised)) == 1
    assert toy.waiting("PatientQueue") == (0, 1)


def test_only_the_messages_that_a_function_names_are_seen_again(toy: Toy) -> None:
    reply = toy.sqs.send_message_batch(
        QueueUrl=toy.queues["JobsQueue"].url,
        Entries=[{"Id": str(n), "MessageBody": '{"fail": true}' if n == 2 else "{}"} for n in range(4)],
    )
    ids = [sent["MessageId"] for sent in sorted(reply["Successful"], key=lambda sent: sent["Id"])]

    until(lambda: toy.notes("buried", ids[2]), seconds=15)

    assert [len(toy.notes("seen", one)) for one in ids] == [1, 1, 2, 1]
    assert [len(toy.notes("done", one)) for one in ids] == [1, 1, 0, 1]


def test_two_batches_run_side_by_side_in_two_processes(toy: Toy) -> None:
    toy.send("PairsQueue")
    toy.send("PairsQueue")

    until(lambda: len(toy.notes("met")) == 2, seconds=30)

    assert len({note["pid"] for note in toy.notes("met")}) == 2


def test_a_batch_holds_at_most_what_its_mapping_says(toy: Toy) -> None:
    toy.sqs.send_message_batch(
        QueueUrl=toy.queues["JobsQueue"].url,
        Entries=[{"Id": str(n), "MessageBody": '{"m": 1}'} for n in range(10)],
    )

    until(lambda: toy.waiting("JobsQueue") == (0, 0))

    sizes = {note["batch"] for note in toy.notes("seen") if '"m"' in note["record"]["body"]}
    assert max(sizes) <= 5
