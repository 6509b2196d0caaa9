"""Follow `docs/deploy.md` word by word on a fresh local AWS with enforced IAM: from a clone to a fired job and back."""

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.e2e.page_walk import Account, User, blocks_of, free_port, fresh_aws, fresh_clone, new_environment
from tests.unit.project.pages import text_of

SECTION = text_of("docs/deploy.md").split("## From a clone to a fired job\n")[1].split("\n## ")[0]
POLICY = text_of("docs/deploy.md").split("### Permissions\n")[1].split("```json\n")[1].split("```\n")[0]
PORT = 8000
"""The port of the page's listener."""
KEPT_TAGS = "arn:aws:dynamodb:us-east-1:000000000000:table/onthedot-dev-jobs"
"""MiniStack keeps the tags of a deleted table."""


class Walk:
    """The steps of the page, in its order. Each takes the block that the page has next."""

    def __init__(self, user: User, account: Account, logs: Path, port: int) -> None:
        self.user, self.account, self.logs = user, account, logs
        self._blocks = iter(blocks_of(SECTION.replace(f":{PORT}/", f":{port}/")))
        self._port = port

    def next(self, begins: str, **replaced: str) -> str:
        """The next block, which must begin so, with the user's own values in the place of the page's words."""
        block = next(self._blocks)
        assert block.startswith(begins), f"the page now has {block!r} where the test follows {begins!r}"
        for word, value in replaced.items():
            assert word in block
            block = block.replace(word, value)
        return block

    def follow(self, begins: str, **replaced: str) -> str:
        return self.user.run(self.next(begins, **replaced))

    def is_at_its_end(self) -> bool:
        return next(self._blocks, None) is None

    def submit(self) -> str:
        """Submit the page's next job, and return its id."""
        return str(json.loads(self.follow("curl -s $URL/v1/jobs "))["job_id"])

    def wait_until_succeeded(self, job_id: str) -> None:
        deadline = time.monotonic() + 120
        while True:
            job = json.loads(self.user.run(f".venv/bin/onthedot get {job_id} --json"))
            if job["status"] == "SUCCEEDED":
                return
            assert time.monotonic() < deadline, job
            time.sleep(0.5)

    def listen(self) -> Path:
        """Start the page's listener and worker, and return the listener's output."""
        other_port = "" if self._port == PORT else f" --port {self._port}"
        self.user.begin(self.next(".venv/bin/onthedot listen").strip() + other_port, self.logs / "listen")
        self.user.begin(self.next(".venv/bin/onthedot worker"), self.logs / "worker")
        self._wait_for(self.logs / "listen", "Listening on")
        self._wait_for(self.logs / "worker", "is ready")
        return self.logs / "listen"

    def _wait_for(self, log: Path, text: str) -> str:
        deadline = time.monotonic() + 120
        while not re.search(text, log.read_text()):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        return log.read_text()

    def wait_for_arrival(self, log: Path) -> str:
        return self._wait_for(log, r"POST /hello")


@pytest.mark.timeout(1500)
def test_a_new_user_gets_from_a_clone_to_a_fired_job_and_leaves_nothing(tmp_path: Path) -> None:
    with fresh_aws(tmp_path / "aws") as endpoint_url:
        account = Account(endpoint_url)
        environment = new_environment(endpoint_url, account.new_administrator())
        user = User(fresh_clone(tmp_path / "onthedot"), tmp_path, environment)
        walk = Walk(user, account, tmp_path, free_port(PORT))
        try:
            follow_the_page(walk)
        finally:
            user.leave()
            # With all that it installed, it is too large to be kept as pytest keeps folders.
            shutil.rmtree(user.clone)


def make_token_without_the_right_to_delete(walk: Walk) -> None:
    """The page says that all but the last two statements are enough for it."""
    policy = json.loads(POLICY)
    keys = walk.account.new_user("ben", json.dumps({**policy, "Statement": policy["Statement"][:-2]}))
    given = " ".join(f"{name}={value}" for name, value in keys.items())
    made = walk.user.run(
        f"{given} .venv/bin/onthedot tokens create --stage dev --tenant acme --role viewer --name ben"
        " --expires 1h --json"
    )
    assert set(json.loads(made)) >= {"token", "id", "tenant", "role", "name", "expires_at"}


def follow_the_page(walk: Walk) -> None:
    walk.follow("make install")
    walk.follow("export AWS_DEFAULT_REGION=")
    walk.follow(".venv/bin/onthedot bootstrap")
    before = walk.account.resources()

    keys = walk.account.new_user("ada", POLICY)
    assert walk.account.refuses(keys)
    walk.user.environment.update(keys)
    said = walk.follow(".venv/bin/onthedot deploy --stage dev")
    assert ":user/ada of account" in said
    assert "✗" not in said
    assert "?" not in {line[:1] for line in said.splitlines()}, said
    assert "Next     onthedot tokens create --stage dev" in said
    url = re.search(r"^API +(\S+)$", said, re.MULTILINE)
    assert url is not None, said

    make_token_without_the_right_to_delete(walk)
    walk.follow("export ONTHEDOT_TOKEN=", API_URL=url[1])
    walk.follow("export URL=")
    assert walk.user.environment["TOKEN"].startswith("otd_")
    first = walk.submit()
    walk.wait_until_succeeded(first)
    shown = walk.follow(".venv/bin/onthedot get JOB_ID", JOB_ID=first)
    assert "SUCCEEDED" in shown

    log = walk.listen()
    second = walk.submit()
    arrived = walk.wait_for_arrival(log)
    assert second in arrived
    assert re.search(r"\d+ ms late", arrived)
    walk.wait_until_succeeded(second)
    walk.user.leave()

    said = walk.follow(".venv/bin/onthedot destroy --stage dev")
    assert walk.is_at_its_end()
    left = walk.account.resources() - before
    assert left == {f"iam {name}" for name in re.findall(r"AWS::IAM::Role (\S+):", said)}
    assert len(left) == 1
    assert "ApiCloudWatchRole" in next(iter(left))
    assert walk.account.tagged() <= {KEPT_TAGS, *(arn for arn in walk.account.tagged() if "ApiCloudWatchRole" in arn)}
    assert walk.account.resources() >= before
