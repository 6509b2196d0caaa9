"""Content that is too large for a record, in S3."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.errors import Unavailable
from onthedot.engines.aws.errors import ErrorReply, translated
from onthedot.engines.aws.leftovers import batches

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

# Without these options the client signs links with version 2 in the oldest region. In other regions it makes links to
# the global host, which redirects readers of new buckets to a host that the signature does not cover. With the bucket
# in the path, the link names the host of the region.
S3_OPTIONS: Final[Mapping[str, Any]] = {"signature_version": "s3v4", "s3": {"addressing_style": "path"}}
_AT_ONCE: Final = 1_000
"""The most keys that one call of S3 lists or deletes."""
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


class S3Blobs:
    """A `Blobs` in one bucket. Its client, which needs `S3_OPTIONS` in its `Config`, is made at the first use.

    Making the client takes a tenth of a cold start, and few payloads are large.
    """

    def __init__(self, make_client: Callable[[], "S3Client"], bucket: str) -> None:
        self._make_client = make_client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def put(self, key: str, content: bytes) -> None:
        with translated("put blob"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType=_type_of(content))

    def get(self, key: str) -> bytes | None:
        try:
            with translated("get blob"):
                return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ErrorReply as error:
            if error.code in ("NoSuchKey", "404"):
                return None
            raise

    def keys(self, prefix: str, after: str, limit: int) -> Sequence[str]:
        with translated("list blobs"):
            reply = self._client.list_objects_v2(
                Bucket=self._bucket, Prefix=prefix, StartAfter=after, MaxKeys=min(limit, _AT_ONCE)
            )
        return [blob["Key"] for blob in reply.get("Contents", [])]

    def delete(self, keys: Sequence[str]) -> None:
        for some in batches(keys, _AT_ONCE):
            with translated("delete blobs"):
                reply = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": [{"Key": key} for key in some], "Quiet": True}
                )
            if errors := reply.get("Errors"):
                raise Unavailable(f"delete blobs: {len(errors)} were not deleted: {errors[0].get('Code')}")

    def link(self, key: str, seconds: int) -> str | None:
        """Sign a link in this process, without a call. It expires with our own credentials if that is earlier."""
        with translated("link blob"):
            return self._client.generate_presigned_url(
                "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=seconds
            )


class NoBlobs:
    """The `Blobs` of functions that never touch a payload and have no access to the bucket."""

    def put(self, key: str, content: bytes) -> None:  # noqa: ARG002
        raise Unavailable("this part stores no blobs")

    def get(self, key: str) -> bytes | None:  # noqa: ARG002
        raise Unavailable("this part reads no blobs")

    def link(self, key: str, seconds: int) -> str | None:  # noqa: ARG002
        raise Unavailable("this part shows no blobs")


def _type_of(content: bytes) -> str:
    """Return a content type that no browser executes, because targets may answer anything."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return _TEXT
    return _JSON
