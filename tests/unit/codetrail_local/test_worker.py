import pytest

from codetrail_local.worker import failures

IDS = ["a", "b", "c"]


@pytest.mark.parametrize("reply", [None, {}, "", [], {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_a_reply_without_failures_means_that_all_is_well(reply: object) -> None:
    assert failures(reply, IDS) == set()


def test_the_messages_that_are_named_failed() -> None:
    reply = {"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "c"}]}

    assert failures(reply, IDS) == {"a", "c"}


@pytest.mark.parametrize(
    "reply",
    [
        "text",
        [1],
        {"batchItemFailures": "a"},
        {"batchItemFailures": [{"itemIdentifier": "z"}]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"identifier": "a"}]},
        {"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "z"}]},
        {"batchItemFailures": ["a"]},
    ],
)
def test_a_reply_that_is_not_understood_fails_the_whole_batch(reply: object) -> None:
    assert failures(reply, IDS) == set(IDS)
