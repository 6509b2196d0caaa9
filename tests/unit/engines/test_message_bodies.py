"""The bodies of run messages in SQS: what they leave out, and those of earlier versions."""

import json
from dataclasses import replace

from onthedot.core.choices import Priority
from onthedot.core.ports import RunMessage
from onthedot.engines.aws.sqs.queues import message_body, read_message
from tests.builders import NOON

MESSAGE = RunMessage("job_a", "g1", NOON, "acme", Priority.MEDIUM, "default")
GATED = replace(MESSAGE, gates=("customer:42", "stripe"), woken="stripe", start_by=NOON + 1)
BODY = {"run": "job_a", "generation": "g1", "fire_at": NOON, "tenant": "acme", "priority": "MEDIUM", "pool": "default"}
GATES = {"gates": ["customer:42", "stripe"], "woken": "stripe", "start_by": NOON + 1}


def test_a_body_has_gates_only_if_its_run_has() -> None:
    assert json.loads(message_body(MESSAGE)) == {"format": 1, **BODY}
    assert json.loads(message_body(GATED)) == {"format": 1, **BODY, **GATES}


def test_a_body_of_an_earlier_version_is_read() -> None:
    assert read_message(json.dumps(BODY)) == MESSAGE
    assert read_message(json.dumps({**BODY, **GATES})) == GATED
